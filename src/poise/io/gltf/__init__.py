"""glTF files: documents read as rigs, and rigs written as documents.

reader, skeleton_reader     rigs of documents: nodes, skins, clips
writer, document_draft      documents of rigs; edits of an existing document
container, accessors        bytes of GLB files and buffers, arrays of accessors
json_checks                 checks of the JSON, errors and notes
source_document             document kept with a skeleton, for saving
node_extras, asset_extras   keys of Poise in nodes and documents
"""
