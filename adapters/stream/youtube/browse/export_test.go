package browse

import "github.com/stream-monitor/stream-monitor/domain/channel"

// ReadTab reads the first page of a tab of streams, and then more as the page that follows it.
func ReadTab(id string, body, more []byte) (channel.Listing, error) {
	p, err := readTab(id, body)
	if err == nil && p.mayContinue() {
		err = p.readMore(more)
	}
	if err != nil {
		return channel.Listing{}, err
	}
	return p.Listing, nil
}
