package media

import (
	"crypto/cipher"
	"io"
)

// Decrypted returns a reader of the decrypted bytes of r.
func Decrypted(r io.Reader, mode cipher.BlockMode) io.Reader {
	return &decrypter{source: r, mode: mode, host: "media.example"}
}
