package media_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/stream-monitor/stream-monitor/adapters/stream/media"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// pad adds PKCS #7 padding.
func pad(plain []byte) []byte {
	n := aes.BlockSize - len(plain)%aes.BlockSize
	return append(bytes.Clone(plain), bytes.Repeat([]byte{byte(n)}, n)...)
}

// encryptCBC encrypts whole blocks; it does not pad.
func encryptCBC(tb testing.TB, key, iv, plain []byte) []byte {
	tb.Helper()
	c, err := aes.NewCipher(key)
	if err != nil {
		tb.Fatal(err)
	}
	out := make([]byte, len(plain))
	cipher.NewCBCEncrypter(c, iv).CryptBlocks(out, plain)
	return out
}

func newDecrypter(tb testing.TB, key, iv []byte) cipher.BlockMode {
	tb.Helper()
	c, err := aes.NewCipher(key)
	if err != nil {
		tb.Fatal(err)
	}
	return cipher.NewCBCDecrypter(c, iv)
}

var (
	testKey = []byte("0123456789abcdef")
	testIV  = []byte("fedcba9876543210")
)

func TestDecryptionIsAReader(t *testing.T) {
	plain := make([]byte, 50_000)
	_, _ = rand.NewChaCha8([32]byte{3}).Read(plain)
	encrypted := encryptCBC(t, testKey, testIV, pad(plain))
	if err := iotest.TestReader(media.Decrypted(bytes.NewReader(encrypted), newDecrypter(t, testKey, testIV)), plain); err != nil {
		t.Error(err)
	}
	broken := errors.New("the server went away")
	got, err := io.ReadAll(media.Decrypted(io.MultiReader(bytes.NewReader(encrypted[:64]), iotest.ErrReader(broken)), newDecrypter(t, testKey, testIV)))
	if !errors.Is(err, broken) || !bytes.HasPrefix(plain, got) || len(got) < 48 {
		t.Errorf("after an error of the source: got %d bytes, %v", len(got), err)
	}
}

// Decrypting piece by piece gives the same bytes as decrypting everything at once, without the padding.
func FuzzDecrypted(f *testing.F) {
	text := bytes.Repeat([]byte("a segment of 17. "), 6000)
	for _, n := range []int{0, 1, 15, 16, 17, 31, 32, 16<<10 - 17, 16<<10 - 16, 16<<10 - 1, 16 << 10, 16<<10 + 1, 32 << 10, 100_000} {
		for _, pieces := range [][]byte{nil, {0}, {1, 15, 16, 17, 200}} {
			f.Add(encryptCBC(f, testKey, testIV, pad(text[:n])), pieces)
		}
	}
	for _, n := range []int{0, 1, 15, 17, 32, 111} { // an incomplete block, or no padding
		f.Add(encryptCBC(f, testKey, testIV, pad(text[:100]))[:n], []byte{1, 15, 16, 17, 200})
	}
	for _, end := range [][]byte{{0}, {17}, {255}, {2, 3, 3}, append([]byte{15}, bytes.Repeat([]byte{16}, 15)...)} { // invalid padding
		f.Add(encryptCBC(f, testKey, testIV, append(bytes.Clone(text[:48-len(end)]), end...)), []byte{})
	}
	f.Fuzz(func(t *testing.T, encrypted, pieces []byte) {
		got, err := io.ReadAll(media.Decrypted(&pieceReader{rest: encrypted, sizes: pieces}, newDecrypter(t, testKey, testIV)))
		plain := make([]byte, len(encrypted)/aes.BlockSize*aes.BlockSize)
		newDecrypter(t, testKey, testIV).CryptBlocks(plain, encrypted[:len(plain)])
		if !bytes.HasPrefix(plain, got) {
			t.Fatal("the bytes differ from those of the whole text")
		}
		if len(plain) == 0 || len(plain) < len(encrypted) {
			wantFailure(t, err, watch.FailureTruncated, "whole block")
			return
		}
		n := int(plain[len(plain)-1])
		if n < 1 || n > aes.BlockSize || !bytes.HasSuffix(plain, bytes.Repeat([]byte{byte(n)}, n)) {
			wantFailure(t, err, watch.FailureUndecodable, "wrong key")
			return
		}
		if err != nil || len(got) != len(plain)-n {
			t.Fatalf("%d of %d bytes, %d of them padding: %v", len(got), len(plain), n, err)
		}
	})
}

// pieceReader returns reads of the given sizes, over and over.
type pieceReader struct {
	rest, sizes []byte
	reads       int
}

func (p *pieceReader) Read(b []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := 1 << 10
	if len(p.sizes) > 0 {
		n = int(p.sizes[p.reads%len(p.sizes)])%64 + 1
	}
	p.reads++
	n = copy(b[:min(n, len(b))], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}
