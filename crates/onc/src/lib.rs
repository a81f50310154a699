//! ONC RPC, portmapper, MOUNT and NFSv3 as codecs without I/O: bytes in, bytes out.
