"""Calls a server over RPC-with-TLS: [--cert F --key F] [--ca F] HOST PORT NAME CALLS"""
import argparse, socket, ssl, struct, sys

parser = argparse.ArgumentParser()
parser.add_argument("--cert")
parser.add_argument("--key")
parser.add_argument("--ca")
parser.add_argument("host")
parser.add_argument("port", type=int)
parser.add_argument("name")
parser.add_argument("calls", type=int)
options = parser.parse_args()
context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
context.minimum_version = ssl.TLSVersion.TLSv1_3
context.load_verify_locations(options.ca)
context.set_alpn_protocols(["sunrpc"])
if options.cert:
    context.load_cert_chain(options.cert, options.key)


def null(sock, xid, flavor):
    """The reply to NULL of NFSv3 without its xid."""
    call = struct.pack(">IIIIIIIIII", xid, 0, 2, 100003, 3, 0, flavor, 0, 0, 0)
    sock.sendall(struct.pack(">I", 0x80000000 | len(call)) + call)
    data = b""
    while len(data) < 4 or len(data) < 4 + (struct.unpack_from(">I", data)[0] & 0x7FFFFFFF):
        piece = sock.recv(4096)
        if not piece:
            sys.exit("the server closed the connection")
        data += piece
    assert struct.unpack_from(">I", data, 4)[0] == xid
    return data[8:]


def say(*words):
    print(*words, flush=True)


try:
    with socket.create_connection((options.host, options.port), timeout=120) as sock:
        reply = null(sock, 1, 7)
        say("probe", reply.hex())
        if b"STARTTLS" not in reply:
            sys.exit("no STARTTLS")
        with context.wrap_socket(sock, server_hostname=options.name) as protected:
            say("session", protected.version(), protected.selected_alpn_protocol())
            for number in range(options.calls):
                reply = null(protected, 2 + number, 0)
                say("null", reply.hex())
            say("again", null(protected, 2 + options.calls, 7).hex())
except OSError as error:
    say("error", error)
