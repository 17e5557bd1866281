"""URDF and SRDF readers, and the URDF writer.

`xml_parser` reads the XML, `joints` the skeleton rows, `srdf` groups and states. `writer` changes limits in the source
file.
"""
