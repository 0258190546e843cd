package media

import (
	"crypto/cipher"
	"io"
)

// Decrypted reads what r is decrypted to.
func Decrypted(r io.Reader, mode cipher.BlockMode) io.Reader {
	return &decrypted{from: r, mode: mode, host: "media.example"}
}
