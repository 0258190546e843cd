package detector

var silenceWords = Words{
	English: Phrases{
		Title:     "No sound",
		State:     "silent",
		Lasts:     "Silent for {lasted}.",
		Alert:     "Sound is silent",
		Recovered: "Sound is back",
		Means:     "Silent is under {level_below_db}\u00a0dB.",
		First:     "look at the mixer and the audio input of the encoder (muted?) → preview in {studio}.",
		Check:     "Is the master fader or the audio input of the encoder muted? A picture that still arrives means the encoder is up.",
		Settings:  map[string]string{"silence_threshold_sec": "Silent: alert after, s", SilenceDB: "Silence is under, dB"},
	},
	Japanese: Phrases{
		Title:     "無音",
		State:     "無音",
		Lasts:     "{lasted}無音。",
		Alert:     "無音",
		Recovered: "音声が復旧",
		Means:     "{level_below_db} dB未満なら無音。",
		First:     "ミキサーとエンコーダーの音声入力（ミュート？）→ {studio}のプレビュー",
		Check:     "マスターフェーダーやエンコーダーの音声入力がミュートされていませんか。映像が届いていれば、エンコーダーは動いています。",
		Settings:  map[string]string{"silence_threshold_sec": "無音のアラートまで（秒）", SilenceDB: "無音とみなす音量（dB未満）"},
	},
}
