package broadcast

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

// segmentsPerKey is how many segments in a row have the same key.
const segmentsPerKey = 3

// key is the AES-128 key and IV of a segment.
type key struct {
	number     int
	secret     []byte
	iv         []byte
	explicitIV bool // the playlist states the IV; otherwise it is the sequence number
}

func (k *key) name() string { return fmt.Sprintf("key-%d.bin", k.number) }

// key returns the key of segment n, or nil.
func (b *Broadcast) key(t *track, n int) *key {
	switch b.shape.Keys {
	case ByFFmpeg:
		return &key{secret: secret(ByFFmpeg, 0), iv: t.segments[max(n, 0)].pieces[0].iv, explicitIV: true}
	case Rotating:
		k := &key{number: n / segmentsPerKey, iv: make([]byte, aes.BlockSize)}
		k.secret = secret(Rotating, k.number)
		// An init section has no sequence number for an IV.
		if k.explicitIV = b.shape.Container == FMP4 || k.number%2 == 0; k.explicitIV {
			copy(k.iv, secret("an IV", k.number))
		} else {
			binary.BigEndian.PutUint64(k.iv[8:], uint64(n))
		}
		return k
	}
	return nil
}

// secret returns the bytes of key n.
func secret(kind Keys, n int) []byte {
	if kind == ByFFmpeg {
		return []byte(ffmpegKey)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", kind, n))
	return sum[:aes.BlockSize]
}

// encrypt encrypts with AES-128 in CBC mode with PKCS7 padding (RFC 8216, 4.3.2.4).
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
