package embedded

import (
	"errors"
	"strings"
	"sync"
	"syscall"
	"time"
)

// noSpace is how the server says that the disk is full.
const noSpace = "No space left on device"

// outOfSpace tells whether err is about a full disk, or about a quota that is
// used up.
func outOfSpace(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || strings.Contains(err.Error(), noSpace)
}

// sayEvery is how often the same thing is said while it goes on.
const sayEvery = time.Minute

// repeated is something that may be said again and again.
type repeated struct {
	mu   sync.Mutex
	said string
	at   time.Time
}

// already tells whether text was said a short time ago; otherwise it is from
// now on.
func (r *repeated) already(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if text == r.said && time.Since(r.at) < sayEvery {
		return true
	}
	r.said, r.at = text, time.Now()
	return false
}
