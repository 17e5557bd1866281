"""A flat walk on hills: edit contacts, plant feet, measure the result."""

import sys
from pathlib import Path

import poise
from poise import samples

out = Path(sys.argv[1] if len(sys.argv) > 1 else ".")

rig = poise.load(samples.path("humanoid.glb"))
hills = poise.Terrain.heightmap(samples.path("hills.npz"))
planted = poise.plant_feet(rig.clips[0], hills, rig=rig)
print(planted.report)
for note in planted.notes:
    print("note:", note)  # note: the clip walks in place; its feet go at 1.05 m/s: ...

before, after = planted.report.before, planted.report.after
assert after.skate < 0.5 < before.skate  # cm/s
assert after.penetration < 5  # mm

poise.save(planted, out / "on_hills.glb", like=rig)  # the same file, with one more clip
planted.report.to_html(out / "on_hills.html")

# contacts are intervals in seconds: {"left": {"heel": [(start, end), ...], "ball": [...]}, ...}; both feet leave later
steps = {
    leg: {
        point: [(start, min(end + 0.05, planted.duration)) for start, end in pairs] for point, pairs in points.items()
    }
    for leg, points in planted.contacts.intervals().items()
}
contacts = poise.Contacts.from_intervals(steps, planted.contacts.legs, planted.times)
longer = poise.plant_feet(rig.clips[0], hills, rig=rig, contacts=contacts)
shares = [f"{100 * result.report.after.contact.mean():.0f} %" for result in (planted, longer)]
print(f"feet on the ground: {shares[0]} of the time, then {shares[1]}")  # ... 67 % of the time, then 73 %
assert longer.report.after.contact.mean() > planted.report.after.contact.mean()

# its steps are longer than the stair treads; shorter ones climb one tread each
stairs = poise.Terrain.stairs(0.15, 0.30, direction=(0, 0, 1))
upstairs = poise.plant_feet(rig.clips[0], stairs, rig=rig, stride="fit")
print(upstairs.notes[0])  # strides fitted to the treads: of 4 steps 4 shorter (at most: 0.56 m became 0.34 m)
assert upstairs.report.ok
