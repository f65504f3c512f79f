"""The pinned environment as a container: one image per lmcache release, made from ``Dockerfile.lmcache``.

Images are built by the ``docker`` command, because the SDK only knows the old builder; everything else goes
through the SDK. Nothing that runs in a container can reach a network, except the servers that are asked for.
"""

from fixturegen.containers.container import Mount
from fixturegen.containers.image import STUBS_INSIDE
from fixturegen.containers.runtime import ContainerRuntime

__all__ = ["STUBS_INSIDE", "ContainerRuntime", "Mount"]
