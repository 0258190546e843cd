// Package journal is a log that tests read, also while more is written to it.
package logbuffer

import (
	"bytes"
	"strings"
	"sync"
)

// Journal keeps what is written to it; the zero value is empty.
type Buffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (j *Buffer) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

// String is all of it.
func (j *Buffer) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.String()
}

// Count is how often it has some words.
func (j *Buffer) Count(words string) int { return strings.Count(j.String(), words) }

// Has tells whether it has some words.
func (j *Buffer) Contains(words string) bool { return j.Count(words) > 0 }
