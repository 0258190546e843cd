package browse

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/monitor"
)

// MaxStreams limits the streams of a Listing. With more it is Partial.
const MaxStreams = 500

// Limits of texts, in bytes.
const (
	maxLabel  = 400
	maxDetail = 300
)

// answer holds the fields that are used of what the API answers.
type answer struct {
	Metadata struct {
		Channel struct {
			ID     string `json:"externalId"`
			Title  string `json:"title"`
			Vanity string `json:"vanityChannelUrl"` // http://www.youtube.com/@handle
		} `json:"channelMetadataRenderer"`
	} `json:"metadata"`
	Contents struct {
		Columns struct {
			Tabs []struct {
				Tab tab `json:"tabRenderer"`
			} `json:"tabs"`
		} `json:"twoColumnBrowseResultsRenderer"`
	} `json:"contents"`
	Alerts []struct {
		Alert struct {
			Type string `json:"type"`
			Text text   `json:"text"`
		} `json:"alertRenderer"`
	} `json:"alerts"`
	Received []struct { // what follows a page
		Append struct {
			Items []json.RawMessage `json:"continuationItems"`
		} `json:"appendContinuationItemsAction"`
	} `json:"onResponseReceivedActions"`
	Endpoint struct { // of a page's URL
		Browse struct {
			ID string `json:"browseId"`
		} `json:"browseEndpoint"`
	} `json:"endpoint"`
}

type tab struct {
	Selected bool     `json:"selected"`
	Endpoint endpoint `json:"endpoint"`
	Content  struct {
		Grid struct {
			Items []json.RawMessage `json:"contents"`
		} `json:"richGridRenderer"`
	} `json:"content"`
}

type endpoint struct {
	Metadata struct {
		Web struct {
			URL string `json:"url"`
		} `json:"webCommandMetadata"`
	} `json:"commandMetadata"`
}

// hasStreams reports whether it is the tab of streams. Its title depends on the language.
func (t tab) hasStreams() bool { return strings.HasSuffix(t.Endpoint.Metadata.Web.URL, "/streams") }

// text is a text of a page, in one of its two forms.
type text struct {
	Simple string `json:"simpleText"`
	Runs   []struct {
		Text string `json:"text"`
	} `json:"runs"`
}

func (t text) String() string {
	var all strings.Builder
	all.WriteString(t.Simple)
	for _, r := range t.Runs {
		all.WriteString(r.Text)
	}
	return all.String()
}

func decode(body []byte) (a answer, err error) {
	if err := json.Unmarshal(body, &a); err != nil {
		if looksLikeTest(body) {
			return a, failed(channel.Refused, "YouTube shows a page for people in place of an answer: it asks for consent, or for a test")
		}
		return a, failed(channel.Unreadable, "YouTube's answer cannot be read: %v", err)
	}
	for _, one := range a.Alerts {
		if !strings.EqualFold(one.Alert.Type, "error") {
			continue
		}
		said, kind := one.Alert.Text.String(), channel.Unreadable
		if gone.MatchString(said) {
			kind = channel.NotFound
		}
		return a, failed(kind, "YouTube says: %s", said)
	}
	return a, nil
}

var gone = regexp.MustCompile(`(?i)does not exist|has been terminated|was removed`)

// looksLikeTest reports whether a page asks for consent to cookies, or whether a person asks.
func looksLikeTest(body []byte) bool {
	page := string(body[:min(len(body), 64<<10)])
	return strings.Contains(page, "<") && (strings.Contains(page, "consent.youtube.com") || strings.Contains(page, "consent.google.com") || strings.Contains(page, "captcha") || strings.Contains(page, "unusual traffic"))
}

// readID reads for which channel a page stands.
func readID(body []byte) (id string, err error) {
	a, err := decode(body)
	if err != nil {
		return "", err
	}
	if !ChannelID.MatchString(a.Endpoint.Browse.ID) {
		return "", failed(channel.Unreadable, "YouTube does not say which channel has this address")
	}
	return a.Endpoint.Browse.ID, nil
}

// ChannelID matches the id of a channel.
var ChannelID = regexp.MustCompile(`^UC[A-Za-z0-9_-]{22}$`)

// pages are the pages that were read of a tab.
type pages struct {
	channel.Listing

	continuation string // leads to the next page; empty: there is none
}

// mayContinue reports whether streams that have not ended may follow.
func (p *pages) mayContinue() bool {
	if last := len(p.Streams) - 1; last >= 0 && p.Streams[last].State == channel.Ended {
		return false
	}
	return p.continuation != ""
}

// readTab reads the first page of the tab of streams of the channel id.
func readTab(id string, body []byte) (*pages, error) {
	a, err := decode(body)
	if err != nil {
		return nil, err
	}
	about := a.Metadata.Channel
	if about.ID != id {
		return nil, failed(channel.Unreadable, "YouTube's answer is about %q in place of the channel", about.ID)
	}
	p := &pages{Listing: channel.Listing{ID: id, Title: line(about.Title, maxLabel)}}
	if _, handle, is := strings.Cut(about.Vanity, "youtube.com/@"); is {
		p.Handle = "@" + line(handle, maxLabel)
	}
	listed := false
	for _, one := range a.Contents.Columns.Tabs {
		listed = listed || one.Tab.hasStreams()
		if one.Tab.Selected && one.Tab.hasStreams() {
			if one.Tab.Content.Grid.Items == nil {
				return nil, failed(channel.Unreadable, "the tab of streams has a form that is not known")
			}
			p.add(one.Tab.Content.Grid.Items)
			return p, nil
		}
	}
	if listed || len(a.Contents.Columns.Tabs) == 0 {
		return nil, failed(channel.Unreadable, "YouTube answers with something other than the tab of streams")
	}
	return nil, failed(channel.NoStreams, "the channel has no tab of streams")
}

// readMore reads the next page.
func (p *pages) readMore(body []byte) error {
	a, err := decode(body)
	if err != nil {
		return err
	}
	p.continuation = ""
	for _, received := range a.Received {
		if received.Append.Items != nil {
			p.add(received.Append.Items)
			return nil
		}
	}
	return failed(channel.Unreadable, "what follows a page of streams has a form that is not known")
}

// add adds the entries of a page. An entry that is not understood makes the Listing Partial.
func (p *pages) add(items []json.RawMessage) {
	for _, raw := range items {
		var i item
		err := json.Unmarshal(raw, &i)
		if token := i.Continuation.token(); token != "" {
			p.continuation = token
			continue
		}
		s, is := i.stream()
		if err != nil || !is || len(p.Streams) == MaxStreams {
			p.Partial = true
			continue
		}
		if !p.has(s.URL) {
			p.Streams = append(p.Streams, s)
		}
	}
}

// has reports whether a stream was listed already: a page may repeat the end of the one before.
func (p *pages) has(url monitor.StreamURL) bool {
	for _, s := range p.Streams {
		if s.URL == url {
			return true
		}
	}
	return false
}

// line returns a text on one line, of at most limit bytes.
func line(s string, limit int) string {
	return monitor.CleanLine(monitor.StorableText(s, limit))
}
