package media_test

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/stream/media"
	"github.com/stream-monitor/stream-monitor/domain/watch"
	"github.com/stream-monitor/stream-monitor/test/fake/httpfault"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// countingServer serves resources by path, with byte ranges, and counts the
// requests for each.
type countingServer struct {
	mu       sync.Mutex
	files    map[string][]byte
	requests map[string]int
}

func (v *countingServer) serve(w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	v.requests[r.URL.Path]++
	v.mu.Unlock()
	b, ok := v.files[r.URL.Path]
	if !ok {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
}

func TestEncryptedSegmentsAreDecrypted(t *testing.T) {
	otherKey, otherIV := []byte("another key, 16."), []byte("another IV of 16")
	content, init := bytes.Repeat([]byte("media"), 20_000), []byte("section")
	v := &countingServer{files: map[string][]byte{
		"/key": testKey, "/other": otherKey, "/page": []byte("<html>Log in, please</html>"), "/short": testKey[:15], "/long": append(testKey, 0), "/empty": {},
		"/segment": encryptCBC(t, testKey, testIV, pad(content)), "/section": encryptCBC(t, testKey, testIV, pad(init)),
		"/section/other": encryptCBC(t, otherKey, otherIV, pad(init)), "/section/plain": init,
		"/parts": append(encryptCBC(t, testKey, testIV, pad(init)), encryptCBC(t, testKey, otherIV, pad(content))...),
	}}
	base := serve(t, v.serve)
	key := func(path string, iv []byte) *watch.Key { return &watch.Key{URI: base + path + "?key=s3cr3t", IV: iv} }
	n := int64(len(pad(init)))

	for name, c := range map[string]struct {
		segment watch.Segment
		want    string
		keys    map[string]int // the number of requests for each
	}{
		"a segment": {
			watch.Segment{URI: base + "/segment", Key: key("/key", testIV)}, string(content), map[string]int{"/key": 1},
		},
		"after an init section with the same key": {
			watch.Segment{URI: base + "/segment", Key: key("/key", testIV), Init: &watch.Init{URI: base + "/section", Key: key("/key", testIV)}},
			"section" + string(content), map[string]int{"/key": 1},
		},
		"after an init section with another key": {
			watch.Segment{URI: base + "/segment", Key: key("/key", testIV), Init: &watch.Init{URI: base + "/section/other", Key: key("/other", otherIV)}},
			"section" + string(content), map[string]int{"/key": 1, "/other": 1},
		},
		"after an init section that is not encrypted": {
			watch.Segment{URI: base + "/segment", Key: key("/key", testIV), Init: &watch.Init{URI: base + "/section/plain"}},
			"section" + string(content), map[string]int{"/key": 1},
		},
		"in byte ranges of one resource": {
			watch.Segment{
				URI: base + "/parts", Range: byteRange(n, int64(len(pad(content)))), Key: key("/key", otherIV),
				Init: &watch.Init{URI: base + "/parts", Range: byteRange(0, n), Key: key("/key", testIV)},
			},
			"section" + string(content), map[string]int{"/key": 1},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v.requests = map[string]int{}
			client := newClient(t, nil)
			for times := 1; times <= 2; times++ {
				got := must.Get(fetch(t, client, c.segment))(t)
				must.Equal(t, "got", string(got), c.want)
				for path, once := range c.keys {
					if v.requests[path] != times*once {
						t.Errorf("%s was fetched %d times for %d segments", path, v.requests[path], times)
					}
				}
			}
		})
	}

	for name, c := range map[string]struct {
		key    *watch.Key
		kind   watch.FailureKind
		detail string
	}{
		"a key of 15 bytes":         {key("/short", testIV), watch.FailureMalformed, "16 bytes"},
		"a key of 17 bytes":         {key("/long", testIV), watch.FailureMalformed, "16 bytes"},
		"an empty key":              {key("/empty", testIV), watch.FailureMalformed, "16 bytes"},
		"a page instead of a key":   {key("/page", testIV), watch.FailureMalformed, "16 bytes"},
		"a key that has expired":    {key("/gone", testIV), watch.FailureRefused, "answered 403"},
		"another key":               {key("/other", testIV), watch.FailureUndecodable, "wrong key"},
		"an IV of 15 bytes":         {key("/key", testIV[:15]), watch.FailureMalformed, "15 bytes"},
		"no IV":                     {key("/key", nil), watch.FailureMalformed, "0 bytes"},
		"a key with another scheme": {&watch.Key{URI: "skd://app/videoplayback?key=s3cr3t", IV: testIV}, watch.FailureNetwork, "neither http nor https"},
		"a key without a URL":       {&watch.Key{IV: testIV}, watch.FailureNetwork, "neither http nor https"},
	} {
		t.Run(name, func(t *testing.T) {
			v.requests = map[string]int{}
			wantFetchFailure(t, newClient(t, nil), watch.Segment{URI: base + "/segment", Key: c.key}, c.kind, c.detail)
			wantFetchFailure(t, newClient(t, nil), watch.Segment{URI: base + "/segment", Init: &watch.Init{URI: base + "/section", Key: c.key}}, c.kind, c.detail)
			if c.kind != watch.FailureUndecodable && v.requests["/segment"]+v.requests["/section"] > 0 {
				t.Error("the media were requested although the key is invalid")
			}
		})
	}
}

func TestEncryptedSegmentsHaveTheSameLimits(t *testing.T) {
	const limit = 1 << 20
	at, over := encryptCBC(t, testKey, testIV, pad(make([]byte, limit-1))), encryptCBC(t, testKey, testIV, pad(make([]byte, limit)))
	v := &countingServer{requests: map[string]int{}, files: map[string][]byte{"/key": testKey, "/at": at, "/over": over}}
	base := serve(t, v.serve)
	c := newClient(t, func(c *media.Config) { c.MaxSegment = limit })
	key := &watch.Key{URI: base + "/key", IV: testIV}
	got := must.Get(fetch(t, c, watch.Segment{URI: base + "/at", Key: key, Init: &watch.Init{URI: base + "/at", Key: key}}))(t)
	expect.Equal(t, "number of got", len(got), 2*(limit-1))
	wantFetchFailure(t, c, watch.Segment{URI: base + "/over", Key: key}, watch.FailureTooLarge, "")
	wantFetchFailure(t, c, watch.Segment{URI: base + "/at", Key: key, Init: &watch.Init{URI: base + "/over", Key: key}}, watch.FailureTooLarge, "")
}

// encryptedSegment returns a segment that needs four resources, all of them encrypted.
func encryptedSegment(base string) watch.Segment {
	return watch.Segment{
		URI: base + "/segment", Key: &watch.Key{URI: base + "/key", IV: testIV},
		Init: &watch.Init{URI: base + "/section", Key: &watch.Key{URI: base + "/other", IV: testIV}},
	}
}

// newCountingServer serves the resources of encryptedSegment.
func newCountingServer(t *testing.T) *countingServer {
	t.Helper()
	return &countingServer{requests: map[string]int{}, files: map[string][]byte{
		"/key": testKey, "/other": testIV, "/segment": encryptCBC(t, testKey, testIV, pad([]byte("media"))), "/section": encryptCBC(t, testIV, testIV, pad([]byte("section"))),
	}}
}

// Each of four resources takes a third of the budget: it is used up before the last.
func TestAllResourcesShareOneTimeBudget(t *testing.T) {
	v := newCountingServer(t)
	base := serve(t, func(w http.ResponseWriter, r *http.Request) { // the delay itself is tested: it must count
		httpfault.Delay(200*time.Millisecond)(w, r, http.HandlerFunc(v.serve))
	})
	_, err := fetch(t, newClient(t, func(c *media.Config) { c.Total = 600 * time.Millisecond }), encryptedSegment(base))
	wantFailure(t, err, watch.FailureNetwork, "too long in all")
	if got, err := fetch(t, newClient(t, nil), encryptedSegment(base)); err != nil || string(got) != "sectionmedia" {
		t.Errorf("with enough time: got %q, %v", got, err)
	}
}

func TestAStallOfAnyResourceEndsTheFetch(t *testing.T) {
	for resource := range newCountingServer(t).files {
		v := newCountingServer(t)
		base := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != resource {
				v.serve(w, r)
				return
			}
			flush(w, "")
			<-r.Context().Done()
		})
		_, err := fetch(t, newClient(t, func(c *media.Config) { c.Stall = 100 * time.Millisecond }), encryptedSegment(base))
		wantFailure(t, err, watch.FailureNetwork, "nothing came")
	}
}

// pad adds PKCS #7 padding.
func pad(plain []byte) []byte {
	n := aes.BlockSize - len(plain)%aes.BlockSize
	return append(bytes.Clone(plain), bytes.Repeat([]byte{byte(n)}, n)...)
}

// encryptCBC encrypts whole blocks; it does not pad.
func encryptCBC(tb testing.TB, key, iv, plain []byte) []byte {
	tb.Helper()
	c := must.Get(aes.NewCipher(key))(tb)
	out := make([]byte, len(plain))
	cipher.NewCBCEncrypter(c, iv).CryptBlocks(out, plain)
	return out
}

func newDecrypter(tb testing.TB, key, iv []byte) cipher.BlockMode {
	tb.Helper()
	c := must.Get(aes.NewCipher(key))(tb)
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
	must.Do(t, iotest.TestReader(media.Decrypted(bytes.NewReader(encrypted), newDecrypter(t, testKey, testIV)), plain))
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
		f.Add(encryptCBC(f, testKey, testIV, pad(text[:100]))[:n], []byte{0})
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

// pieceReader returns reads of these sizes, over and over, the last with the end if the first is even.
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
	if p.rest = p.rest[n:]; len(p.rest) == 0 && len(p.sizes) > 0 && p.sizes[0]%2 == 0 {
		return n, io.EOF
	}
	return n, nil
}
