package broadcast_test

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"encoding/hex"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stream-monitor/stream-monitor/test/fake/broadcast"
)

// The test decrypts every segment as the playlist says and compares it with the clear
// one. Playing it would prove less: MPEG-TS survives the 16 bytes that a wrong IV
// damages.
func TestEverySegmentDecryptsToTheClearOne(t *testing.T) {
	for name, s := range map[string]broadcast.Shape{
		"MPEG-TS": {Window: 1000, Keys: broadcast.Rotating},
		"fMP4":    {Window: 1000, Keys: broadcast.Rotating, Container: broadcast.FMP4},
	} {
		t.Run(name, func(t *testing.T) {
			_, server := startAt(t, s, broadcast.Program.End)
			s.Keys = broadcast.Clear
			_, unencrypted := startAt(t, s, broadcast.Program.End)
			base, clearBase := server.URL+"/itag/91/", unencrypted.URL+"/itag/91/"
			tag := regexp.MustCompile(`URI="([^"]+)"(?:,IV=0x([0-9a-f]+))?`)
			var (
				secret, iv string
				keys       = map[string]bool{}
				sequence   uint64
			)
			for line := range strings.Lines(mustGet(t, base+"index.m3u8")) {
				line = strings.TrimSpace(line)
				match := tag.FindStringSubmatch(line)
				switch {
				case strings.HasPrefix(line, "#EXT-X-KEY:"):
					secret, iv = mustGet(t, base+match[1]), match[2]
					keys[secret] = true
				case strings.HasPrefix(line, "#EXT-X-MAP:"):
					if decrypt(t, mustGet(t, base+match[1]), secret, iv, 0) != mustGet(t, clearBase+"init-0.mp4") {
						t.Errorf("%s decrypts to other bytes than those of the clear init section", match[1])
					}
				case !strings.HasPrefix(line, "#"):
					if decrypt(t, mustGet(t, base+line), secret, iv, sequence) != mustGet(t, clearBase+line) {
						t.Errorf("%s decrypts to other bytes than those of the clear segment", line)
					}
					sequence++
				}
			}
			if sequence != uint64(broadcast.Program.End/(2*time.Second)) || len(keys) != 11 {
				t.Errorf("%d segments with %d keys, want 31 with 11", sequence, len(keys))
			}
		})
	}
}

// decrypt decrypts AES-128 in CBC mode (RFC 8216, 4.3.2.4 and 5.2). iv is hexadecimal.
// If it is empty, the sequence number is the IV.
func decrypt(t *testing.T, body, secret, iv string, sequence uint64) string {
	t.Helper()
	vector, err := hex.DecodeString(iv)
	if err != nil {
		t.Fatal(err)
	}
	if iv == "" {
		vector = binary.BigEndian.AppendUint64(make([]byte, 8), sequence)
	}
	block, err := aes.NewCipher([]byte(secret))
	if err != nil {
		t.Fatal(err)
	}
	b := []byte(body)
	if len(b) == 0 || len(b)%aes.BlockSize != 0 {
		t.Fatalf("%d bytes are not whole blocks", len(b))
	}
	cipher.NewCBCDecrypter(block, vector).CryptBlocks(b, b)
	padding := int(b[len(b)-1])
	if padding == 0 || padding > aes.BlockSize {
		t.Fatalf("padding of %d bytes", padding)
	}
	return string(b[:len(b)-padding])
}
