"""What pages need to solve by themselves: kernels in WebAssembly, and the arrays that Python gives to them.

`program` packs the kernel calls of one solve, `body` a whole body with all its parts.
"""
