"""A correction of mujoco-warp's contacts between a capsule and the floor, so that friction is MuJoCo's.

Friction acts along a pyramid, so its force depends on how the two tangents of a contact lie. MuJoCo lays the first one
along the capsule, however steep that is (mjraw_PlaneCapsule and mju_makeFrame); mujoco-warp 4.0 lays it along a fixed
axis where the capsule is steeper than 60 degrees (plane_capsule), as the legs of Ant are.
"""

from typing import Any

import mujoco_warp as mjw
import warp as wp

_PLANE, _CAPSULE = int(mjw.GeomType.PLANE), int(mjw.GeomType.CAPSULE)


def align_with_capsules(model: Any, data: Any) -> None:
    """For `model.callback.contactfilter`, which is called between finding contacts and what is made of them."""
    wp.launch(
        _align,
        dim=data.naconmax,
        inputs=[model.geom_type, data.geom_xmat, data.nacon, data.contact.geom, data.contact.worldid],
        outputs=[data.contact.frame],
    )


@wp.kernel(enable_backward=False)  # type: ignore[untyped-decorator]
def _align(
    geom_type: wp.array[int],
    geom_xmat: wp.array2d[wp.mat33],
    num_contacts: wp.array[int],
    geoms: wp.array[wp.vec2i],
    world: wp.array[int],
    frame: wp.array[wp.mat33],
) -> None:
    i = wp.tid()
    if i >= num_contacts[0]:
        return
    floor, other = geoms[i][0], geoms[i][1]
    if geom_type[floor] != _PLANE or geom_type[other] != _CAPSULE:
        return
    turn = geom_xmat[world[i], other]
    axis = wp.vec3(turn[0, 2], turn[1, 2], turn[2, 2])
    normal = wp.vec3(frame[i][0, 0], frame[i][0, 1], frame[i][0, 2])
    along = axis - normal * wp.dot(normal, axis)
    if wp.length(along) < 1e-6:  # upright to float32's precision: no tangent is better than another
        return
    along = wp.normalize(along)
    across = wp.cross(normal, along)
    frame[i] = wp.matrix_from_rows(normal, along, across)
