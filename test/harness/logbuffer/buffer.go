// Package logbuffer keeps a log in memory, for tests that read it while more is
// written.
package logbuffer

import (
	"bytes"
	"strings"
	"sync"
)

// Buffer keeps what is written to it. The zero value is empty; it is safe for
// concurrent use.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (b *Buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns everything that was written.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// Count returns how often words occurs.
func (b *Buffer) Count(words string) int { return strings.Count(b.String(), words) }

// Contains reports whether words occurs.
func (b *Buffer) Contains(words string) bool { return b.Count(words) > 0 }
