package applier

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/stream-monitor/stream-monitor/adapters/apiclient"
)

const silencesPath = "/api/v1/silences"

// storedSilence returns the silence of the gateway that a silence of the file is: the one
// that has not ended, else the newest; nil: it is new.
func (p *plan) storedSilence(s Silence) (found *apiclient.Silence) {
	for n := range p.silences {
		stored := &p.silences[n]
		if stored.Owner != p.file.Owner || stored.Comment != string(s.Comment) {
			continue
		}
		if found == nil || found.State == ended && stored.State != ended {
			found = stored
		}
	}
	return found
}

const ended = "ended"

func (p *plan) compareSilences() {
	for _, s := range p.file.Silences {
		name := label("silence", string(s.Comment), 0)
		stored := p.storedSilence(s)
		switch {
		case s.To != nil && !s.To.After(time.Now()): // it is over
		case stored == nil || stored.State == ended: // somebody has ended it, and the file has it
			p.changes = append(p.changes, change{'+', name, nil, func(ctx context.Context) error {
				return p.gateway.Call(ctx, http.MethodPost, silencesPath, p.silenceBody(s), nil)
			}})
		default:
			if differing := s.differences(*stored); len(differing) > 0 {
				p.changes = append(p.changes, change{'~', name, differing, func(ctx context.Context) error {
					return p.gateway.Call(ctx, http.MethodPatch, silencesPath+"/"+stored.ID, p.silenceBody(s), nil)
				}})
			}
		}
	}
	for _, stored := range p.silences {
		isKept := func(s Silence) bool { return string(s.Comment) == stored.Comment }
		if stored.State == ended || slices.ContainsFunc(p.file.Silences, isKept) || p.isSpared(stored.Owner) {
			continue
		}
		p.changes = append(p.changes, change{'-', label("silence", stored.Comment, 0), nil, func(ctx context.Context) error {
			return p.gateway.Call(ctx, http.MethodDelete, silencesPath+"/"+stored.ID, nil, nil)
		}})
	}
}

// differences names the fields that differ. Without from in the file, a silence began when
// it was created.
func (s Silence) differences(stored apiclient.Silence) (names []string) {
	add := func(name string, differs bool) {
		if differs {
			names = append(names, name)
		}
	}
	add("match", !s.Match.equals(stored.Match))
	add("from", s.From != nil && !s.From.Truncate(time.Millisecond).Equal(stored.From))
	add("to", (s.To == nil) != (stored.To == nil) || s.To != nil && !s.To.Truncate(time.Millisecond).Equal(*stored.To))
	add("window", !s.sameWindow(stored.Window))
	add("by", string(s.By) != stored.By)
	return names
}

func (s Silence) sameWindow(stored *apiclient.Window) bool {
	if s.Window == nil || stored == nil {
		return s.Window == nil && stored == nil
	}
	w := s.Window
	return string(w.Start) == stored.Start && string(w.End) == stored.End && string(w.Timezone) == stored.Timezone &&
		slices.Equal(slices.Sorted(slices.Values(s.days())), slices.Sorted(slices.Values(stored.Weekdays)))
}

func (p *plan) silenceBody(s Silence) map[string]any {
	body := map[string]any{"match": s.Match.body(), "to": nil, "window": nil, "by": s.By, "comment": s.Comment, "owner": p.file.Owner}
	if s.From != nil {
		body["from"] = *s.From
	}
	if s.To != nil {
		body["to"] = *s.To
	}
	if s.Window != nil {
		body["window"] = map[string]any{
			"weekdays": append([]string{}, s.days()...), "start": s.Window.Start, "end": s.Window.End, "timezone": s.Window.Timezone,
		}
	}
	return body
}
