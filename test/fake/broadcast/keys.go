package broadcast

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// rotation is how many segments have the same key.
const rotation = 3

// key is what a segment is encrypted with.
type key struct {
	number int
	secret []byte
	iv     []byte
	stated bool // the IV stands in the playlist; else it is the sequence number
}

func (k *key) name() string { return fmt.Sprintf("key-%d.bin", k.number) }

// key is that of segment n, or nil.
func (b *Broadcast) key(t *track, n int) *key {
	switch b.shape.Keys {
	case ByFFmpeg:
		return &key{secret: secret(ByFFmpeg, 0), iv: t.segments[max(n, 0)].pieces[0].iv, stated: true}
	case Rotating:
		k := &key{number: n / rotation, iv: make([]byte, aes.BlockSize)}
		k.secret = secret(Rotating, k.number)
		// An initialisation section has no sequence number to make an IV of.
		if k.stated = b.shape.Container == FMP4 || k.number%2 == 0; k.stated {
			copy(k.iv, secret("an IV", k.number))
		} else {
			binary.BigEndian.PutUint64(k.iv[8:], uint64(n))
		}
		return k
	}
	return nil
}

// secret is key number n.
func secret(kind Keys, n int) []byte {
	if kind == ByFFmpeg {
		return []byte(theKey)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", kind, n))
	return sum[:aes.BlockSize]
}

// encrypt is AES-128 in CBC mode with PKCS7 padding (RFC 8216, 4.3.2.4).
func (k *key) encrypt(b []byte) ([]byte, error) {
	block, err := aes.NewCipher(k.secret)
	if err != nil {
		return nil, err
	}
	padding := aes.BlockSize - len(b)%aes.BlockSize
	b = append(bytes.Clone(b), bytes.Repeat([]byte{byte(padding)}, padding)...)
	cipher.NewCBCEncrypter(block, k.iv).CryptBlocks(b, b)
	return b, nil
}
