"""Opens vectors.json by Python's cryptography and RFC 9180 as it is written, and compares all that is in it.

python3 -m venv v && v/bin/pip install cryptography && v/bin/python src/encode/open.py
"""
import base64, hashlib, hmac, json, pathlib
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

KEM, SUITE = b"KEM\x00\x20", b"HPKE\x00\x20\x00\x01\x00\x03"


def extract(suite, salt, label, ikm):
    return hmac.digest(salt or bytes(32), b"HPKE-v1" + suite + label + ikm, "sha256")


def expand(suite, prk, label, info, length):
    info, out, block = length.to_bytes(2, "big") + b"HPKE-v1" + suite + label + info, b"", b""
    while len(out) < length:
        block = hmac.digest(prk, block + info + bytes([len(out) // 32 + 1]), "sha256")
        out += block
    return out[:length]


def open_base(secret, info, layer):
    key = X25519PrivateKey.from_private_bytes(secret)
    enc, cipher = layer[:32], layer[32:]
    public = key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
    shared = expand(KEM, extract(KEM, b"", b"eae_prk", key.exchange(X25519PublicKey.from_public_bytes(enc))),
                    b"shared_secret", enc + public, 32)
    context = b"\x00" + extract(SUITE, b"", b"psk_id_hash", b"") + extract(SUITE, b"", b"info_hash", info)
    prk = extract(SUITE, shared, b"secret", b"")
    return ChaCha20Poly1305(expand(SUITE, prk, b"key", context, 32)).decrypt(expand(SUITE, prk, b"base_nonce", context, 12), cipher, b"")


def decoded(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


vectors = json.loads((pathlib.Path(__file__).parent / "vectors.json").read_text())
digest = hashlib.sha256(vectors["description"].encode()).digest()
shuffler, analyser = (decoded(vectors[who].split("-secret-")[1]) for who in ("shuffler", "analyser"))
for vector in vectors["messages"]:
    message = decoded(vector["message"])
    assert message[:9] == b"\x01" + digest[:8]
    outer = open_base(shuffler, b"noisegate collect shuffler 1\0" + digest, message[9:])
    assert outer[:16].hex() == vector["id"] and outer[16:32].hex() == vector["group"]
    assert outer[16:32] == hashlib.sha256(b"noisegate collect group 1\0" + digest + vector["label"].encode()).digest()[:16]
    assert open_base(analyser, b"noisegate collect analyser 1\0" + digest, outer[32:]).hex() == vector["fields"]
print(f"{len(vectors['messages'])} messages opened")
