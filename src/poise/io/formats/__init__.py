"""File formats, one module each; the folder is the registry.

A format module has these members; `poise.io.registry` reads them, and those after `write` are optional:

NAME                              name of the format, for messages
SUFFIXES                          suffixes of its files, with the dot
read(path)                        reads a Rig; missing in a write-only format
write(content, path, source_skeleton)
                                  writes a rig, clip or pose; `source_skeleton` has the source document to keep;
                                  missing in a read-only format
UNSUPPORTED_HINT                  hint for the user where `read` or `write` is missing
HAS_SINGLE_CLIP, HAS_SINGLE_ROOT  True if a file holds one clip, or one tree of joints
HAS_INCLUDES                      True if files include others; `read` then takes `include_root`, see `poise.load`
REST_MODES                        ("keep", "zero") if zero rotations can be the rest pose; `write` then takes `rest`
choose_joint_names(rig)           joint names in the file and a sentence on the changed ones, if not every name fits
describe_other_content(path)      description of files with its suffix and other content; None for its own content

Larger parts are modules or packages beside this folder.
"""
