package officialstates

import (
	"context"

	"github.com/stream-monitor/stream-monitor/domain/channel"
	"github.com/stream-monitor/stream-monitor/domain/officialstate"
)

// UploadsAPI lists the streams among the uploads of a channel, with at most officialstate.UploadsUnits calls, and
// HandleUnits more without its ID. It blocks for at most 30 s. Errors: *channel.Failure.
type UploadsAPI interface {
	List(ctx context.Context, address string) (channel.Listing, error)
}

// Uploads is a way to list the streams of a channel within the units of the API, for when other ways fail.
type Uploads struct {
	service *Service
	api     UploadsAPI
}

// Uploads returns the way that uses the units of the Service.
func (s *Service) Uploads(api UploadsAPI) Uploads { return Uploads{s, api} }

// List lists the uploads of a channel, if the API has units for it. Units are counted before they are used. Errors:
// *channel.Failure.
func (u Uploads) List(ctx context.Context, address string) (channel.Listing, error) {
	affordable, units := false, officialstate.UploadsUnits
	if channel.Address(address).SourceID() == "" {
		units += officialstate.HandleUnits
	}
	err := u.service.store.ChangeOfficialAccount(ctx, u.service.Source, func(a *officialstate.Account) {
		affordable = a.SpendOnUploads(u.service.Now(), u.service.Key, u.service.Zone, units)
	})
	switch {
	case err != nil:
		return channel.Listing{}, &channel.Failure{Kind: channel.ToolFailed, Detail: "the units of the " + u.service.Name + " could not be counted"}
	case !affordable:
		return channel.Listing{}, &channel.Failure{Kind: channel.Refused, Detail: "the " + u.service.Name + " has no units for uploads of channels at present"}
	}
	return u.api.List(ctx, address)
}
