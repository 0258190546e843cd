package detector

var testPatternWords = Words{
	English: Phrases{
		Title:     "Test pattern",
		State:     "test pattern",
		Lasts:     "Colour bars or test tone for {lasted}.",
		Alert:     "Colour bars or test tone",
		Recovered: "Programme is back",
		Means:     "Colour bars count from {bar_strips_at_least} strips of the picture on, of 18; a tone of 1 kHz from a share of {tone_share_at_least} of the sound on.",
		First:     "is the switcher or the encoder still on bars and tone? → switch to the programme.",
		Check:     "Is the switcher on the programme? If it is, the bars come from the encoder, which makes them itself while it has no input, or from a line that is still being tested.",
		Settings:  map[string]string{"detectors.test_pattern.threshold_sec": "Test pattern: alert after, s", toneAlone: "Tone counts without bars (1: yes)"},
		Values:    map[string]string{"bar_strips": "Strips with bars, of 18", "tone_share": "Share of tone, of 1"},
	},
	Japanese: Phrases{
		Title:     "テスト信号",
		State:     "テスト信号",
		Lasts:     "カラーバーまたは1kHzが{lasted}継続。",
		Alert:     "カラーバーまたは1kHz",
		Recovered: "番組に復帰",
		Means:     "画面の18帯のうち{bar_strips_at_least}帯以上にカラーバーがあるか、音声のうち1kHzの割合が{tone_share_at_least}以上ならテスト信号。",
		First:     "スイッチャーやエンコーダーがカラーバー・1kHzのまま？ → 番組に切り替え",
		Check:     "スイッチャーは番組を出していますか。出していれば、カラーバーは入力のないエンコーダーの内蔵信号か、テスト中の回線からのものです。",
		Settings:  map[string]string{"detectors.test_pattern.threshold_sec": "テスト信号のアラートまで（秒）", toneAlone: "1kHzだけでもアラート（1：する）"},
		Values:    map[string]string{"bar_strips": "カラーバーの帯（18帯中）", "tone_share": "1kHzの割合（最大1）"},
	},
}
