package applier

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/notify"
	"github.com/stream-monitor/stream-monitor/domain/wire"
)

const (
	silencesPath = "/api/v1/silences"

	ended = notify.SilenceEnded
)

func (p *plan) compareSilences() {
	for _, s := range p.file.Silences {
		name := label("silence", s.Comment, 0)
		stored := p.current.silence(s, p.owns)
		switch {
		case !s.EndsAt.IsZero() && !s.EndsAt.After(time.Now()): // it is over
		case stored == nil || stored.State == ended: // somebody has ended it, and the file has it
			p.changes = append(p.changes, change{sign: '+', name: name, do: func(ctx context.Context) error {
				return p.gateway.Call(ctx, http.MethodPost, silencesPath, p.silenceBody(s), nil)
			}})
		default:
			if differing := p.silenceDifferences(s, stored.Silence); len(differing) > 0 {
				p.changes = append(p.changes, change{sign: '~', name: name, differing: differing, do: func(ctx context.Context) error {
					return p.gateway.Call(ctx, http.MethodPatch, silencesPath+"/"+stored.ID, p.silenceBody(s), nil)
				}})
			}
		}
	}
	for _, stored := range p.current.silences {
		isInFile := func(s notify.Silence) bool { return s.Comment == stored.Comment }
		if stored.State == ended || slices.ContainsFunc(p.file.Silences, isInFile) || p.isSpared(stored.Owner) {
			continue
		}
		p.changes = append(p.changes, change{sign: '-', name: label("silence", stored.Comment, 0), do: func(ctx context.Context) error {
			return p.gateway.Call(ctx, http.MethodDelete, silencesPath+"/"+stored.ID, nil, nil)
		}})
	}
}

// silenceDifferences names the fields that differ. Without from in the file, a silence began
// when it was created.
func (p *plan) silenceDifferences(s, stored notify.Silence) (names []string) {
	add := func(name string, differs bool) {
		if differs {
			names = append(names, name)
		}
	}
	add("match", !sameMatch(s.Match, stored.Match))
	add("from", !s.StartsAt.IsZero() && !s.StartsAt.Truncate(time.Millisecond).Equal(stored.StartsAt))
	add("to", !s.EndsAt.Truncate(time.Millisecond).Equal(stored.EndsAt))
	add("window", !sameWindow(s.Window, stored.Window))
	add("by", s.CreatedBy != stored.CreatedBy)
	add("owner", p.file.Owner != stored.Owner)
	return names
}

func sameWindow(a, b *notify.Window) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Start == b.Start && a.End == b.End && a.Timezone == b.Timezone && slices.Equal(sorted(a.Weekdays), sorted(b.Weekdays))
}

func (p *plan) silenceBody(s notify.Silence) map[string]any {
	body := map[string]any{"match": s.Match, "to": wire.OrNull(s.EndsAt), "window": s.Window, "by": s.CreatedBy, "comment": s.Comment, "owner": p.file.Owner}
	if !s.StartsAt.IsZero() {
		body["from"] = s.StartsAt
	}
	return body
}
