package blobtest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	evidences "github.com/stream-monitor/stream-monitor/application/evidence"
	"github.com/stream-monitor/stream-monitor/domain/evidence"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
	"github.com/stream-monitor/stream-monitor/test/harness/expect"
	"github.com/stream-monitor/stream-monitor/test/harness/must"
)

// Store is a whole blob store: both ports.
type Store interface {
	evidences.BlobStore
	evidences.BlobCleaner
}

// Harness is an empty store and what a test needs to know of it.
type Harness struct {
	Store Store

	// Count returns how many things are stored, complete or not: files, objects, rows.
	Count func(t *testing.T) int

	// Hang makes the server accept everything and answer nothing until the test ends.
	// nil: the store has no server.
	Hang func(t *testing.T)

	// Kill ends the server. nil: the store has no server.
	Kill func(t *testing.T)

	// Limit is the time within which a call ends whose server hangs or is dead.
	Limit time.Duration
}

// CountFiles returns how many files are below a folder, for Harness.Count.
func CountFiles(t *testing.T, root string) (n int) {
	t.Helper()
	must.Do(t, filepath.WalkDir(root, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			n++
		}
		return err
	}))
	return n
}

// clipSize is that of the largest file that evidence may have.
const clipSize = 20 << 20

// Run tests a store. open makes a Harness for one test.
func Run(t *testing.T, open func(t *testing.T) Harness) {
	t.Helper()
	for _, test := range []struct {
		name string
		run  func(*testing.T, Harness)
	}{
		{"a blob is read as it was put, from any offset", readsBack},
		{"a blob that is put twice is stored once", putTwice},
		{"blobs are put at once", putAtOnce},
		{"a wrong digest leaves nothing", wrongDigest},
		{"an upload that is cut or cancelled leaves nothing", cutUpload},
		{"a reader may stop early", readerStops},
		{"a blob that is missing is not found", missing},
		{"a deleted blob is gone", deletes},
		{"blobs are listed in pages", lists},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, open(t)) })
	}
	if open(t).Hang != nil {
		t.Run("a server that hangs is an error in time", func(t *testing.T) {
			h := open(t)
			requireErrors(t, h, h.Hang)
		})
	}
	if open(t).Kill != nil {
		t.Run("a dead server is an error in time", func(t *testing.T) {
			h := open(t)
			requireErrors(t, h, h.Kill)
		})
	}
}

// content returns size bytes that differ for each seed, and their digest.
func content(seed uint64, size int) ([]byte, evidence.Digest) {
	data := make([]byte, size)
	random := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	_, _ = random.Read(data) // never fails
	return data, sha256.Sum256(data)
}

func put(ctx context.Context, s Store, d evidence.Digest, data []byte) error {
	return s.Put(ctx, evidences.NewContent(d, int64(len(data)), bytes.NewReader(data)))
}

func mustPut(t *testing.T, s Store, seed uint64, size int) ([]byte, evidence.Digest) {
	t.Helper()
	data, d := content(seed, size)
	must.Do(t, put(t.Context(), s, d, data))
	return data, d
}

func read(t *testing.T, s Store, d evidence.Digest, offset int64) []byte {
	t.Helper()
	r := must.Get(s.Open(t.Context(), d, offset))(t)
	data, err := io.ReadAll(r)
	must.Do(t, errors.Join(err, r.Close()))
	return data
}

// requireCount gives a server a moment to notice that an upload was cut.
func requireCount(t *testing.T, h Harness, want int) {
	t.Helper()
	got := h.Count(t)
	for deadline := time.Now().Add(5 * time.Second); got != want && time.Now().Before(deadline); got = h.Count(t) {
		time.Sleep(10 * time.Millisecond)
	}
	expect.Equal(t, "things in the store", got, want)
}

func readsBack(t *testing.T, h Harness) {
	for i, size := range []int{1, 1000, 700_000, clipSize} {
		data, d := mustPut(t, h.Store, uint64(i), size)
		for _, offset := range []int{0, size / 3, size - 1} {
			if got := read(t, h.Store, d, int64(offset)); !bytes.Equal(got, data[offset:]) {
				t.Errorf("of %d bytes from %d on, %d others are read", size, offset, len(got))
			}
		}
	}
}

func putTwice(t *testing.T, h Harness) {
	_, d := mustPut(t, h.Store, 1, 300_000)
	once := h.Count(t)
	data, _ := mustPut(t, h.Store, 1, 300_000)
	requireCount(t, h, once)
	if got := read(t, h.Store, d, 0); !bytes.Equal(got, data) {
		t.Error("other bytes are read")
	}
	other := bytes.Clone(data)
	other[0]++
	if put(t.Context(), h.Store, d, other) == nil {
		t.Error("other bytes were accepted under the digest of a stored blob")
	}
	if got := read(t, h.Store, d, 0); !bytes.Equal(got, data) {
		t.Error("the stored blob has changed")
	}
}

func putAtOnce(t *testing.T, h Harness) {
	const blobs, uploads = 3, 4
	var all sync.WaitGroup
	for seed := range uint64(blobs) {
		for range uploads {
			all.Go(func() {
				data, d := content(seed, 300_000)
				if err := put(t.Context(), h.Store, d, data); err != nil {
					t.Errorf("blob %d: %v", seed, err)
				}
			})
		}
	}
	all.Wait()
	for seed := range uint64(blobs) {
		data, d := content(seed, 300_000)
		if got := read(t, h.Store, d, 0); !bytes.Equal(got, data) {
			t.Errorf("blob %d differs", seed)
		}
	}
	if list, err := h.Store.List(t.Context(), evidence.Digest{}, 10); err != nil || len(list) != blobs {
		t.Errorf("%d blobs are listed, want %d: %v", len(list), blobs, err)
	}
	if n, err := h.Store.DeletePartial(t.Context(), 0); n != 0 || err != nil {
		t.Errorf("%d uploads were left: %v", n, err)
	}
}

func wrongDigest(t *testing.T, h Harness) {
	for _, size := range []int{10, 600_000} {
		data, _ := content(1, size)
		_, d := content(2, size)
		err := put(t.Context(), h.Store, d, data)
		if err == nil {
			t.Fatal("accepted")
		}
		if _, err := h.Store.Open(t.Context(), d, 0); !errors.Is(err, evidences.ErrNoBlob) {
			t.Errorf("opening it: %v", err)
		}
		requireCount(t, h, 0)
	}
}

func cutUpload(t *testing.T, h Harness) {
	data, d := content(1, 600_000)
	for _, sent := range []int{0, 10, 300_000, 599_999} {
		c := evidences.NewContent(d, int64(len(data)), bytes.NewReader(data[:sent]))
		err := h.Store.Put(t.Context(), c)
		var refused *monitor.Error
		if err == nil || !errors.As(c.Err(), &refused) {
			t.Errorf("cut after %d bytes: error %v, of the content %v", sent, err, c.Err())
		}
		requireCount(t, h, 0)
	}
	ctx, cancel := context.WithCancel(t.Context())
	goesAway := iotest.ErrReader(context.Canceled)
	c := evidences.NewContent(d, int64(len(data)), io.MultiReader(bytes.NewReader(data[:400_000]), cancelling{cancel, goesAway}))
	if err := h.Store.Put(ctx, c); err == nil {
		t.Error("an upload that is cancelled was accepted")
	}
	requireCount(t, h, 0)
}

// cancelling is a sender that goes away.
type cancelling struct {
	cancel context.CancelFunc
	io.Reader
}

// Read implements io.Reader.
func (c cancelling) Read(p []byte) (int, error) {
	c.cancel()
	return c.Reader.Read(p)
}

// readerStops opens more readers than any store has connections, and leaves each
// early.
func readerStops(t *testing.T, h Harness) {
	data, d := mustPut(t, h.Store, 1, 1<<20)
	for range 40 {
		r := must.Get(h.Store.Open(t.Context(), d, 5))(t)
		start := make([]byte, 10)
		if _, err := io.ReadFull(r, start); err != nil || !bytes.Equal(start, data[5:15]) {
			t.Fatalf("%x is read, want %x: %v", start, data[5:15], err)
		}
		must.Do(t, r.Close())
	}
	if got := read(t, h.Store, d, 0); !bytes.Equal(got, data) {
		t.Error("afterwards other bytes are read")
	}
}

func missing(t *testing.T, h Harness) {
	_, d := content(1, 10)
	if _, err := h.Store.Open(t.Context(), d, 0); !errors.Is(err, evidences.ErrNoBlob) {
		t.Errorf("opening it: %v", err)
	}
	must.Do(t, h.Store.Delete(t.Context(), d))
}

func deletes(t *testing.T, h Harness) {
	_, gone := mustPut(t, h.Store, 1, 5<<20)
	data, kept := mustPut(t, h.Store, 2, 300_000)
	must.Do(t, h.Store.Delete(t.Context(), gone))
	if _, err := h.Store.Open(t.Context(), gone, 0); !errors.Is(err, evidences.ErrNoBlob) {
		t.Errorf("opening it: %v", err)
	}
	if got := read(t, h.Store, kept, 0); !bytes.Equal(got, data) {
		t.Error("the other blob has changed")
	}
	must.Do(t, h.Store.Delete(t.Context(), kept))
	requireCount(t, h, 0)
	again, _ := mustPut(t, h.Store, 2, 300_000)
	if got := read(t, h.Store, kept, 0); !bytes.Equal(got, again) {
		t.Error("a blob cannot be put again")
	}
}

func lists(t *testing.T, h Harness) {
	var want []evidence.Digest
	for seed := range uint64(5) {
		_, d := mustPut(t, h.Store, seed, 100)
		want = append(want, d)
	}
	slices.SortFunc(want, func(a, b evidence.Digest) int { return bytes.Compare(a[:], b[:]) })
	var got []evidence.Digest
	for after := (evidence.Digest{}); ; {
		page := must.Get(h.Store.List(t.Context(), after, 2))(t)
		if len(page) == 0 {
			break
		}
		got = append(got, page...)
		after = page[len(page)-1]
	}
	expect.Equal(t, "listed", got, want)
}

// requireErrors expects every call to end in time with an error once the server has
// failed.
func requireErrors(t *testing.T, h Harness, failServer func(*testing.T)) {
	t.Helper()
	_, d := mustPut(t, h.Store, 1, clipSize) // more than the network buffers of a read
	reader := must.Get(h.Store.Open(t.Context(), d, 0))(t)
	defer reader.Close()
	failServer(t)
	var all sync.WaitGroup
	for name, call := range map[string]func() error{
		"Put":           func() error { data, d := content(2, 600_000); return put(t.Context(), h.Store, d, data) },
		"Open":          func() error { return drain(h.Store.Open(t.Context(), d, 0)) },
		"Delete":        func() error { return h.Store.Delete(t.Context(), d) },
		"List":          func() error { _, err := h.Store.List(t.Context(), evidence.Digest{}, 10); return err },
		"a read in use": func() error { return drain(reader, nil) },
	} {
		all.Go(func() {
			began := time.Now()
			err := call()
			took := time.Since(began)
			t.Logf("%s: %.1f s: %v", name, took.Seconds(), err)
			if err == nil || took > h.Limit {
				t.Errorf("%s ends after %v with %v, want an error within %v", name, took, err, h.Limit)
			}
		})
	}
	all.Wait()
}

func drain(r io.ReadCloser, err error) error {
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, r)
	return errors.Join(err, r.Close())
}
