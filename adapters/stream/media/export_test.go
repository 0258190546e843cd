package media

import (
	"crypto/cipher"
	"io"
	"time"
)

// NewPace returns the method allows of a pace.
func NewPace(rate int64, now time.Time) func(n int, now time.Time) bool {
	return (&pace{rate: rate, until: now}).allows
}

// Decrypted returns a reader of the decrypted bytes of r.
func Decrypted(r io.Reader, mode cipher.BlockMode) io.Reader {
	return &decrypter{source: r, mode: mode, host: "media.example"}
}
