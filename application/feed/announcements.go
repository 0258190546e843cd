package feed

import (
	"slices"

	"github.com/stream-monitor/stream-monitor/domain/feed"
)

// maxAnnouncements is how many announcements a gateway keeps for readers that are slow. A
// reader that falls further behind misses some: the next ones replace them.
const maxAnnouncements = 1024

// announcements holds the newest messages that are not entries, for the readers that ask
// for them.
type announcements struct {
	messages []feed.Message
	last     int64 // how many there were so far
}

func (a *announcements) add(m feed.Message) {
	a.last++
	a.messages = append(a.messages, m)
	if len(a.messages) > 2*maxAnnouncements {
		a.messages = slices.Clone(a.messages[len(a.messages)-maxAnnouncements:])
	}
}

// after returns the messages after the first n, as far as they are kept.
func (a *announcements) after(n int64) []feed.Message {
	missing := int(min(a.last-n, int64(len(a.messages)), maxAnnouncements))
	return slices.Clone(a.messages[len(a.messages)-missing:])
}

// Announce sends data to the readers that show thumbnails. It is not stored: whoever
// connects later does not get it.
func (f *Feed) Announce(data feed.Data) {
	message, err := newMessage(feed.Position{}, data, f.cfg.Now())
	if err != nil {
		f.log.Debug("announcement left out", "error", err)
		return
	}
	f.update(func() { f.announced.add(message) })
}

// ShowThumbnails makes the reader get what is announced from now on.
func (r *Reader) ShowThumbnails() {
	r.feed.mu.Lock()
	defer r.feed.mu.Unlock()
	r.thumbnails, r.announced = true, r.feed.announced.last
}

// announcedSince returns what was announced since the last call. The caller holds the
// lock of the feed.
func (r *Reader) announcedSince() []feed.Message {
	if !r.thumbnails || r.announced == r.feed.announced.last {
		return nil
	}
	messages := r.feed.announced.after(r.announced)
	r.announced = r.feed.announced.last
	return messages
}
