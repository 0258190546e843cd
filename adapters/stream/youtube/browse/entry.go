package browse

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// item is an entry of a tab: a stream in one of two forms, or what leads to the next page.
type item struct {
	Rich struct {
		Content struct {
			Lockup   *lockup   `json:"lockupViewModel"`
			Renderer *renderer `json:"videoRenderer"`
		} `json:"content"`
	} `json:"richItemRenderer"`
	Continuation continuation `json:"continuationItemRenderer"`
}

type continuation struct {
	Endpoint struct {
		Command  continuationCommand `json:"continuationCommand"`
		Executor struct {
			Commands []struct {
				Command continuationCommand `json:"continuationCommand"`
			} `json:"commands"`
		} `json:"commandExecutorCommand"`
	} `json:"continuationEndpoint"`
}

type continuationCommand struct {
	Token string `json:"token"`
}

func (c continuation) token() string {
	for _, one := range c.Endpoint.Executor.Commands {
		if one.Command.Token != "" {
			return one.Command.Token
		}
	}
	return c.Endpoint.Command.Token
}

// stream returns the stream of an entry. is is false for an entry of an unknown form.
func (i item) stream() (s channel.Stream, is bool) {
	id := ""
	switch {
	case i.Rich.Content.Lockup != nil:
		id, s = i.Rich.Content.Lockup.stream()
	case i.Rich.Content.Renderer != nil:
		id, s = i.Rich.Content.Renderer.stream()
	}
	address, err := monitor.ParseStreamURL(service + "/watch?v=" + id)
	s.URL, s.Title = address, line(s.Title, maxLabel)
	return s, err == nil
}

// duration matches how long a recording is, which only a stream that ended has.
var duration = regexp.MustCompile(`^\d+(:\d\d)+$`)

// lockup is an entry of the present layout. An English word marks streams to come, so
// the question asks for English. Their start is a text without a time zone, which is not read.
type lockup struct {
	ID    string `json:"contentId"`
	Type  string `json:"contentType"`
	Image struct {
		Thumbnail struct {
			Overlays []struct {
				Bottom struct {
					Badges []thumbnailBadge `json:"badges"`
				} `json:"thumbnailBottomOverlayViewModel"`
				Badge struct {
					Badges []thumbnailBadge `json:"thumbnailBadges"`
				} `json:"thumbnailOverlayBadgeViewModel"`
			} `json:"overlays"`
		} `json:"thumbnailViewModel"`
	} `json:"contentImage"`
	Metadata struct {
		Lockup struct {
			Title struct {
				Content string `json:"content"`
			} `json:"title"`
			Metadata struct {
				Content struct {
					Rows []row `json:"metadataRows"`
				} `json:"contentMetadataViewModel"`
			} `json:"metadata"`
		} `json:"lockupMetadataViewModel"`
	} `json:"metadata"`
}

type thumbnailBadge struct {
	Badge struct {
		Text  string `json:"text"`
		Style string `json:"badgeStyle"`
	} `json:"thumbnailBadgeViewModel"`
}

type row struct {
	Parts []struct {
		Text struct {
			Content string `json:"content"`
		} `json:"text"`
	} `json:"metadataParts"`
	Badges []struct {
		Badge struct {
			Style string `json:"badgeStyle"`
		} `json:"badgeViewModel"`
	} `json:"badges"`
}

func (l *lockup) stream() (id string, s channel.Stream) {
	if l.Type != "LOCKUP_CONTENT_TYPE_VIDEO" {
		return "", s
	}
	s = channel.Stream{Title: l.Metadata.Lockup.Title.Content, State: l.state()}
	for _, r := range l.Metadata.Lockup.Metadata.Content.Rows {
		for _, b := range r.Badges {
			s.MembersOnly = s.MembersOnly || b.Badge.Style == "BADGE_MEMBERS_ONLY"
		}
	}
	return l.ID, s
}

func (l *lockup) state() channel.State {
	state := channel.Unclear
	for _, r := range l.Metadata.Lockup.Metadata.Content.Rows {
		for _, p := range r.Parts {
			if wasStreamed(p.Text.Content) {
				state = channel.Ended
			}
		}
	}
	for _, o := range l.Image.Thumbnail.Overlays {
		for _, b := range append(o.Bottom.Badges, o.Badge.Badges...) {
			switch {
			case b.Badge.Style == "THUMBNAIL_OVERLAY_BADGE_STYLE_LIVE":
				return channel.Live
			case strings.EqualFold(b.Badge.Text, "upcoming"):
				return channel.Upcoming
			case duration.MatchString(b.Badge.Text):
				state = channel.Ended
			}
		}
	}
	return state
}

func wasStreamed(s string) bool { return strings.HasPrefix(strings.ToLower(s), "streamed") }

// renderer is an entry of the layout of before.
type renderer struct {
	ID       string `json:"videoId"`
	Title    text   `json:"title"`
	Upcoming *struct {
		Start json.Number `json:"startTime"` // Unix seconds, as a string
	} `json:"upcomingEventData"`
	Overlays []struct {
		Status struct {
			Style string `json:"style"`
		} `json:"thumbnailOverlayTimeStatusRenderer"`
	} `json:"thumbnailOverlays"`
	Badges []struct {
		Badge struct {
			Style string `json:"style"`
		} `json:"metadataBadgeRenderer"`
	} `json:"badges"`
	Published text `json:"publishedTimeText"`
	Length    text `json:"lengthText"`
}

func (r *renderer) stream() (id string, s channel.Stream) {
	s = channel.Stream{Title: r.Title.String(), State: channel.Unclear}
	if duration.MatchString(r.Length.String()) || wasStreamed(r.Published.String()) {
		s.State = channel.Ended
	}
	for _, o := range r.Overlays {
		switch o.Status.Style {
		case "LIVE":
			s.State = channel.Live
		case "UPCOMING":
			s.State = channel.Upcoming
		}
	}
	for _, b := range r.Badges {
		switch b.Badge.Style {
		case "BADGE_STYLE_TYPE_LIVE_NOW":
			s.State = channel.Live
		case "BADGE_STYLE_TYPE_MEMBERS_ONLY":
			s.MembersOnly = true
		}
	}
	if r.Upcoming != nil {
		s.State, s.ScheduledStart = channel.Upcoming, startAt(r.Upcoming.Start)
	}
	return r.ID, s
}

// startAt reads a time in Unix seconds. From the year 10000 on (RFC 3339), and before 1970, it is zero.
func startAt(n json.Number) time.Time {
	const year10000 = 253402300800
	seconds, err := n.Int64()
	if err != nil || seconds < 1 || seconds >= year10000 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}
