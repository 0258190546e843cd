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

func TestDecryptionRemovesThePadding(t *testing.T) {
	plain := make([]byte, 100_000)
	rnd := rand.New(rand.NewPCG(3, 4))
	for i := range plain {
		plain[i] = byte(rnd.Uint32())
	}
	t.Run("every length is decrypted from reads of any size", func(t *testing.T) {
		for _, n := range []int{0, 1, 15, 16, 17, 31, 32, 16<<10 - 17, 16<<10 - 16, 16<<10 - 1, 16 << 10, 16<<10 + 1, 32 << 10, 100_000} {
			encrypted := encryptCBC(t, testKey, testIV, pad(plain[:n]))
			for name, r := range map[string]io.Reader{
				"at once": bytes.NewReader(encrypted), "byte by byte": iotest.OneByteReader(bytes.NewReader(encrypted)),
				"by halves": iotest.HalfReader(bytes.NewReader(encrypted)), "with its end": iotest.DataErrReader(bytes.NewReader(encrypted)),
			} {
				got, err := io.ReadAll(media.Decrypted(r, newDecrypter(t, testKey, testIV)))
				if err != nil || !bytes.Equal(got, plain[:n]) {
					t.Errorf("%d bytes, read %s: got %d bytes, %v", n, name, len(got), err)
				}
			}
		}
	})
	t.Run("the result is a valid io.Reader", func(t *testing.T) {
		encrypted := encryptCBC(t, testKey, testIV, pad(plain[:50_000]))
		if err := iotest.TestReader(media.Decrypted(bytes.NewReader(encrypted), newDecrypter(t, testKey, testIV)), plain[:50_000]); err != nil {
			t.Error(err)
		}
	})
	encrypted := encryptCBC(t, testKey, testIV, pad(plain[:100]))
	t.Run("an incomplete block is truncated", func(t *testing.T) {
		for _, n := range []int{0, 1, 15, 17, len(encrypted) - 1} {
			got, err := io.ReadAll(media.Decrypted(bytes.NewReader(encrypted[:n]), newDecrypter(t, testKey, testIV)))
			wantFailure(t, err, watch.FailureTruncated, "whole block")
			if !bytes.HasPrefix(plain, got) {
				t.Errorf("got %d bytes, which differ from the plain text", len(got))
			}
		}
	})
	t.Run("invalid padding is undecodable", func(t *testing.T) {
		for name, end := range map[string][]byte{
			"of zero bytes":           {0},
			"of 17 bytes":             {17},
			"of 255 bytes":            {255},
			"of two values":           {2, 3, 3},
			"with a wrong first byte": append([]byte{15}, bytes.Repeat([]byte{16}, 15)...),
		} {
			text := bytes.Clone(plain[:48])
			copy(text[48-len(end):], end)
			_, err := io.ReadAll(media.Decrypted(bytes.NewReader(encryptCBC(t, testKey, testIV, text)), newDecrypter(t, testKey, testIV)))
			if err == nil {
				t.Errorf("padding %s was accepted", name)
				continue
			}
			wantFailure(t, err, watch.FailureUndecodable, "wrong key")
		}
	})
	t.Run("another key is undecodable", func(t *testing.T) {
		_, err := io.ReadAll(media.Decrypted(bytes.NewReader(encrypted), newDecrypter(t, []byte("another key, 16."), testIV)))
		wantFailure(t, err, watch.FailureUndecodable, "wrong key")
	})
	t.Run("an error of the source follows the bytes before it", func(t *testing.T) {
		broken := errors.New("the server went away")
		r := io.MultiReader(bytes.NewReader(encrypted[:64]), iotest.ErrReader(broken))
		got, err := io.ReadAll(media.Decrypted(r, newDecrypter(t, testKey, testIV)))
		if !errors.Is(err, broken) || !bytes.HasPrefix(plain, got) || len(got) < 48 {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
	})
}

// Decrypting piece by piece gives the same bytes as decrypting everything at once.
func FuzzDecrypted(f *testing.F) {
	for _, n := range []int{0, 16, 17, 32, 64} {
		f.Add(make([]byte, n), []byte{1, 15, 16, 17, 200})
	}
	f.Add(encryptCBC(f, testKey, testIV, pad([]byte("a segment"))), []byte{})
	f.Fuzz(func(t *testing.T, encrypted, pieces []byte) {
		got, err := io.ReadAll(media.Decrypted(&pieceReader{rest: encrypted, sizes: pieces}, newDecrypter(t, testKey, testIV)))
		plain := make([]byte, len(encrypted)/aes.BlockSize*aes.BlockSize)
		newDecrypter(t, testKey, testIV).CryptBlocks(plain, encrypted[:len(plain)])
		if !bytes.HasPrefix(plain, got) {
			t.Fatal("the bytes differ from those of the whole text")
		}
		if len(plain) == 0 || len(plain) < len(encrypted) {
			wantFailure(t, err, watch.FailureTruncated, "")
			return
		}
		n := int(plain[len(plain)-1])
		if n < 1 || n > aes.BlockSize || !bytes.HasSuffix(plain, bytes.Repeat([]byte{byte(n)}, n)) {
			wantFailure(t, err, watch.FailureUndecodable, "")
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
