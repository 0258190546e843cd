package ytdlp

import (
	"bytes"

	"github.com/stream-monitor/stream-monitor/adapters/internal/pythontool"
	"github.com/stream-monitor/stream-monitor/domain/watch"
)

// read turns the output of a run about a stream into a Resolution without Source. conclusive is false
// when the site calls the stream live, yt-dlp lists no usable media, and no reason is
// given. Then a second run may find DASH.
func read(site pythontool.Site, streamID string, stdout, stderr []byte) (answer watch.Resolution, conclusive bool) {
	found := readMessages(site, streamID, stderr)
	if stdout = bytes.TrimSpace(stdout); len(stdout) == 0 {
		return found.toolFailure("yt-dlp printed nothing"), true
	}
	v, err := decode(site, streamID, stdout)
	if err != nil {
		return watch.Resolution{State: watch.ToolFailed, Detail: found.explain("yt-dlp's answer cannot be used: " + err.Error())}, true
	}
	answer, conclusive = v.judge(found)
	return v.describe(site, answer), conclusive
}

// judge decides the state by the status that the site gives. The results are those of read.
func (v *video) judge(found messages) (answer watch.Resolution, conclusive bool) {
	switch v.LiveStatus {
	case "is_live":
		return v.live(found)
	case "is_upcoming":
		return v.upcoming(found), true
	case "post_live":
		return watch.Resolution{State: watch.Ended, Detail: found.reason.text, ActualStart: v.release()}, true
	case "was_live":
		return v.wasLive(found), true
	}
	return v.otherStatus(found)
}

// live resolves a stream that the site calls live. Without formats the tool's messages
// decide: the encoder may be offline, or the site may refuse the stream to this address.
func (v *video) live(found messages) (answer watch.Resolution, conclusive bool) {
	list, manifest := v.renditions()
	answer = watch.Resolution{State: watch.Live, Renditions: list, Manifest: manifest, Expires: expiry(list, manifest), Header: v.header(list, manifest), ActualStart: v.release()}
	switch {
	case len(list) > 0 || manifest != "":
		return answer, true
	case found.reason.state != "":
		answer.State, answer.Detail = found.reason.state, found.reason.text
		return answer, true
	case found.fault.state != "":
		answer.State, answer.Detail = found.fault.state, found.fault.text
		return answer, true
	case v.playable():
		answer.Detail = "yt-dlp lists media, but none of it as HLS or DASH without DRM"
	default:
		answer.State, answer.Detail = watch.Offline, found.explain(found.site.Title+" calls the stream live but lists no media")
	}
	return answer, false
}

// upcoming resolves a scheduled stream or a premiere. A lasting refusal or an end in
// words outweighs the schedule.
func (v *video) upcoming(found messages) watch.Resolution {
	answer := watch.Resolution{State: watch.Upcoming, Detail: found.reason.text}
	switch found.reason.state {
	case watch.Ended, watch.Private, watch.Removed, watch.RegionLocked, watch.AgeRestricted, watch.MembersOnly:
		answer.State = found.reason.state
	}
	return answer
}

// wasLive resolves to Ended, unless the site refuses the media in words (decision S19).
// yt-dlp derives was_live from "live content that is not live now", which also holds for
// a page that refuses a running stream, in words that may be unknown.
func (v *video) wasLive(found messages) watch.Resolution {
	answer := watch.Resolution{State: watch.Ended, Detail: found.reason.text, ActualStart: v.release()}
	if v.playable() {
		return answer
	}
	if found.unexplained() {
		answer = found.toolFailure("yt-dlp says that the stream was live but lists no media")
		answer.ActualStart = v.release()
	}
	switch found.reason.state {
	case watch.Upcoming:
		return v.upcoming(found)
	case watch.Blocked, watch.RateLimited, watch.Private, watch.Removed, watch.RegionLocked, watch.AgeRestricted, watch.MembersOnly:
		answer.State = found.reason.state
	}
	return answer
}

// otherStatus resolves not_live, and a video for which the site gives only a reason. Media without
// any status may be those of a live stream.
func (v *video) otherStatus(found messages) (answer watch.Resolution, conclusive bool) {
	switch {
	case v.playable():
		if v.LiveStatus == "" && v.IsLive != nil && *v.IsLive {
			return v.live(found)
		}
		if v.LiveStatus == "" && v.IsLive == nil {
			return found.toolFailure("yt-dlp lists media but does not say whether the stream is live"), true
		}
		if found.site.Place {
			return watch.Resolution{State: watch.Upcoming, Detail: found.site.Title + " shows a repetition"}, true
		}
		return watch.Resolution{State: watch.NotALiveStream}, true
	case found.reason.state != "":
		return watch.Resolution{State: found.reason.state, Detail: found.reason.text}, true
	case v.LiveStatus == "not_live" && !found.unexplained():
		return watch.Resolution{State: watch.NotALiveStream, Detail: found.site.Title + " calls it no live stream"}, true
	}
	return found.toolFailure("yt-dlp found no video"), true
}
