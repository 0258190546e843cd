package feed

import (
	"strconv"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// Position names a place in the feed: everything up to Version is known.
type Position struct {
	Epoch   string // a UUID; another one means that versions have begun anew
	Version int64  // from 0
}

// String writes the position as <epoch>-<version>, the zero position as "".
func (p Position) String() string {
	if p.Epoch == "" {
		return ""
	}
	return p.Epoch + "-" + strconv.FormatInt(p.Version, 10)
}

// ParsePosition reads what String wrote. ok is false for anything else.
func ParsePosition(s string) (p Position, ok bool) {
	at := strings.LastIndexByte(s, '-')
	if at < 0 || !monitor.IsUUID(s[:at]) {
		return Position{}, false
	}
	version, err := strconv.ParseUint(s[at+1:], 10, 63)
	return Position{Epoch: s[:at], Version: int64(version)}, err == nil
}

func (p Position) version() *int64 {
	if p.Epoch == "" {
		return nil
	}
	return &p.Version
}

// Page is a part of the feed and its head, read at one moment.
type Page struct {
	Epoch   string
	Head    int64   // the version of the newest entry; 0: there was none yet
	Entries []Entry // in the order of their versions, without gaps
}

// Continues reports whether a reader at the position p misses nothing when it goes on
// with this page, which was read after p.Version. It is false if the epoch is
// another one, p is ahead of the feed, or entries after p have been deleted.
func (p Position) Continues(page Page) bool {
	switch {
	case p.Epoch != page.Epoch || p.Version > page.Head:
		return false
	case len(page.Entries) > 0:
		return page.Entries[0].Version == p.Version+1
	}
	return p.Version == page.Head
}
