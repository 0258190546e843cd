package message

import (
	"time"

	"github.com/stream-monitor/stream-monitor/domain/notify"
)

// Examples are those that Load executes the templates with.
var Examples = examples

// Duration writes a duration in a language.
func Duration(l notify.Language, d time.Duration) string { return unitsOf[l].duration(d) }
