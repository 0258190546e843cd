package embedded

import (
	"errors"
	"strings"
	"sync"
	"syscall"
	"time"
)

// noSpaceText is the text of ENOSPC in the server's messages.
const noSpaceText = "No space left on device"

// isDiskFull reports whether err is caused by a full disk or an exhausted quota.
func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || strings.Contains(err.Error(), noSpaceText)
}

// repeatInterval is the minimum time between two log lines with the same text.
const repeatInterval = time.Minute

// throttle suppresses repetitions of a text in the log. The zero value is ready.
type throttle struct {
	mu       sync.Mutex
	text     string
	loggedAt time.Time
}

// suppresses reports whether text was logged less than repeatInterval ago. If it
// was not, the caller logs it now.
func (t *throttle) suppresses(text string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if text == t.text && time.Since(t.loggedAt) < repeatInterval {
		return true
	}
	t.text, t.loggedAt = text, time.Now()
	return false
}
