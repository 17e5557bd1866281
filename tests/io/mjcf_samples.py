"""Models for MuJoCo that tests read: one with everything that a skeleton has a place for."""

ARM = """<mujoco model="arm">
  <compiler angle="degree"/>
  <default>
    <joint axis="0 1 0"/>
    <default class="wrist"><joint range="-30 60" pos="0 0 0.1"/></default>
  </default>
  <worldbody>
    <body name="base" pos="0 0 0.5" euler="0 0 90">
      <joint name="turn" axis="0 0 1" range="-170 170"/>
      <geom type="box" size=".1 .1 .1"/>
      <body name="upper" pos="0.2 0 0">
        <joint name="lift" ref="20" range="10 120"/>
        <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
        <body name="hand" pos="0.3 0 0" childclass="wrist">
          <joint name="pitch"/>
          <joint name="roll" axis="1 0 0"/>
          <joint name="reach" type="slide" axis="1 0 0" range="0 0.2" pos="0 0 0"/>
          <geom size=".02"/>
          <site name="tip" pos="0.1 0 0" euler="0 90 0"/>
          <body name="finger" pos="0 0.02 0"><joint name="close"/><geom size=".01"/></body>
        </body>
      </body>
    </body>
  </worldbody>
  <equality><joint joint1="close" joint2="pitch" polycoef="0.1 0.5 0 0 0"/></equality>
  <keyframe><key name="home" qpos="0.1 0.8 0.2 -0.1 0.05 0.2"/></keyframe>
  <contact><exclude body1="base" body2="upper"/></contact>
</mujoco>
"""


def model(bodies: str, rest: str = "", attributes: str = "") -> str:
    """A model with these bodies; angles in radians."""
    return (
        f'<mujoco>\n<compiler angle="radian" {attributes}/>\n<worldbody>\n{bodies}\n</worldbody>\n{rest}\n</mujoco>\n'
    )


def body(inside: str, name: str = "a", more: str = "") -> str:
    """A body; what stands in it decides whether it moves."""
    return f'<body name="{name}" {more}>{inside}</body>'
