package youtube

// State is the state of a video.
type State string

// The states. In parentheses what yt-dlp makes of them: live_status, and the
// words of the ERROR line.
const (
	Upcoming    State = "upcoming"     // (is_upcoming, "This live event will begin in …")
	Premiere    State = "premiere"     // (is_upcoming, "Premieres in …")
	Live        State = "live"         // (is_live, formats)
	Offline     State = "offline"      // the encoder is not connected (is_live, "Offline.")
	Ended       State = "ended"        // just now (was_live, "This live event has ended.")
	PostLive    State = "post_live"    // being made into an archive (post_live)
	Archived    State = "archived"     // (was_live, formats)
	NoRecording State = "no_recording" // (was_live, "This live stream recording is not available.")
	Ordinary    State = "ordinary"     // never was live (not_live, formats)
	Private     State = "private"      // (null, "Private video")
	Removed     State = "removed"      // (null, "Video unavailable. This video has been removed by the uploader")
	Unavailable State = "unavailable"  // (null, "Video unavailable"); also of an unknown id
	Region      State = "region"       // (null, "… not made this video available in your country")
	Age         State = "age"          // (null, "Sign in to confirm your age")
	Members     State = "members"      // (null, "… members-only content …")
	BotCheck    State = "bot_check"    // (null, "Sign in to confirm you’re not a bot")
	RateLimited State = "rate_limited" // (null, "… rate-limited by YouTube …")
	Captcha     State = "captcha"      // (null, "… requiring a captcha challenge …")
)

// States lists all of them.
func States() []State {
	return []State{
		Upcoming, Premiere, Live, Offline, Ended, PostLive, Archived, NoRecording, Ordinary,
		Private, Removed, Unavailable, Region, Age, Members, BotCheck, RateLimited, Captcha,
	}
}

// refusal is the playability status of a state that cannot be played.
type refusal struct {
	status, reason, subreason string
	hasDetails                bool // the video's details are given all the same
	captcha                   bool
}

var refusals = map[State]refusal{
	Upcoming:    {status: "LIVE_STREAM_OFFLINE", reason: "This live event will begin in a few moments.", hasDetails: true},
	Premiere:    {status: "LIVE_STREAM_OFFLINE", reason: "Premieres in 2 hours", hasDetails: true},
	Offline:     {status: "LIVE_STREAM_OFFLINE", reason: "Offline.", hasDetails: true},
	Ended:       {status: "LIVE_STREAM_OFFLINE", reason: "This live event has ended.", hasDetails: true},
	PostLive:    {status: "LIVE_STREAM_OFFLINE", reason: "This live event has ended.", hasDetails: true},
	NoRecording: {status: "UNPLAYABLE", reason: "This live stream recording is not available.", hasDetails: true},
	Private: {
		status: "LOGIN_REQUIRED", reason: "Private video",
		subreason: "Sign in if you've been granted access to this video",
	},
	Removed: {
		status: "ERROR", reason: "Video unavailable",
		subreason: "This video has been removed by the uploader",
	},
	Unavailable: {status: "ERROR", reason: "Video unavailable"},
	Region: {
		status: "UNPLAYABLE", reason: "Video unavailable",
		subreason: "The uploader has not made this video available in your country",
	},
	Age: {
		status: "LOGIN_REQUIRED", reason: "Sign in to confirm your age",
		subreason: "This video may be inappropriate for some users.",
	},
	Members: {
		status: "UNPLAYABLE",
		reason: "Join this channel to get access to members-only content like this video, and other exclusive perks.",
	},
	BotCheck:    {status: "LOGIN_REQUIRED", reason: "Sign in to confirm you\u2019re not a bot", subreason: "This helps protect our community. Learn more"},
	RateLimited: {status: "UNPLAYABLE", reason: "This content isn't available, try again later."},
	Captcha:     {status: "UNPLAYABLE", reason: "Video unavailable", captcha: true},
}
