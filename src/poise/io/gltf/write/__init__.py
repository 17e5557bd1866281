"""Writers of rigs, clips and poses to glTF documents."""
