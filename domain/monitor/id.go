package monitor

import (
	"encoding/hex"
	"regexp"
)

// ID identifies a monitor everywhere: mon- and a UUIDv7 without hyphens, 36
// characters, a valid DNS-1123 label (section 3.1).
type ID string

var (
	idForm   = regexp.MustCompile(`^mon-[0-9a-f]{12}7[0-9a-f]{3}[89ab][0-9a-f]{15}$`)
	uuidForm = regexp.MustCompile(`(?i)^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

// IsUUID reports whether s is a UUID with its hyphens and nothing else, in either case.
func IsUUID(s string) bool { return uuidForm.MatchString(s) }

// NewID makes the ID of a UUIDv7. The caller makes the UUID, because the domain has
// neither clock nor randomness.
func NewID(uuidV7 [16]byte) ID {
	return ID("mon-" + hex.EncodeToString(uuidV7[:]))
}

// ParseID accepts only what NewID makes; anything else is NotFound, because no
// monitor can have it.
func ParseID(s string) (ID, error) {
	if !idForm.MatchString(s) {
		return "", Errorf(NotFound, "no monitor has the id %.60q: an id is mon- and a UUIDv7 without hyphens", s)
	}
	return ID(s), nil
}

// WorkerName is the name of the worker of this monitor (section 8.1).
func (id ID) WorkerName() string { return "stream-monitor-" + string(id) }
