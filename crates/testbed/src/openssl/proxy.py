"""RPC-with-TLS in front of a server without it: [--cert F --key F] [--ca F] HOST PORT"""
import argparse, select, socket, ssl, struct, threading

parser = argparse.ArgumentParser()
parser.add_argument("--cert")
parser.add_argument("--key")
parser.add_argument("--ca")
parser.add_argument("host")
parser.add_argument("port", type=int)
options = parser.parse_args()
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.minimum_version = ssl.TLSVersion.TLSv1_3
context.load_cert_chain(options.cert, options.key)
if options.ca:
    context.load_verify_locations(options.ca)
    context.verify_mode = ssl.CERT_REQUIRED


def exactly(sock, length):
    data = b""
    while len(data) < length:
        piece = sock.recv(length - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def copy(protected, clear):
    """Passes bytes on in both directions until one end closes."""
    while True:
        ready = [protected] if protected.pending() else select.select([protected, clear], [], [])[0]
        for source, sink in (protected, clear), (clear, protected):
            if source in ready:
                data = source.recv(1 << 16)
                if not data:
                    return
                sink.sendall(data)


def serve(client):
    with client, socket.create_connection((options.host, options.port)) as clear:
        for sock in client, clear:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # Calls in the clear are passed on: MOUNT.
        while True:
            mark = exactly(client, 4)
            call = exactly(client, struct.unpack(">I", mark)[0] & 0x7FFFFFFF)
            if struct.unpack_from(">I", call, 24)[0] == 7:
                break
            clear.sendall(mark + call)
            mark = exactly(clear, 4)
            client.sendall(mark + exactly(clear, struct.unpack(">I", mark)[0] & 0x7FFFFFFF))
        assert len(call) == 40 and call[28:] == bytes(12), call.hex()
        reply = call[:4] + struct.pack(">IIII8sI", 1, 0, 0, 8, b"STARTTLS", 0)
        client.sendall(struct.pack(">I", 0x80000000 | len(reply)) + reply)
        with context.wrap_socket(client, server_side=True) as protected:
            copy(protected, clear)


def quietly(client):
    try:
        serve(client)
    except (EOFError, OSError):
        pass


listener = socket.create_server(("127.0.0.1", 0), backlog=128)
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=quietly, args=(listener.accept()[0],), daemon=True).start()
