package detector

var freezeWords = Words{
	English: Phrases{
		Title:     "Frozen picture",
		State:     "frozen",
		Lasts:     "Frozen for {lasted}.",
		Alert:     "Picture is frozen",
		Recovered: "Picture moves again",
		Means:     "Frozen is a picture that moved before and stands still: it differs by {mean_difference_at_most} grey levels at most, nowhere by more than {block_ratio_at_most} times as much as elsewhere.",
		First:     "look at the output of the encoder and the switcher (a still, a frozen input?) → preview in {studio}.",
		Check:     "Does the programme output of the switcher move? If it does, the encoder or its input stands still. Sound that goes on means the uplink works.",
		Settings:  map[string]string{"detectors.freeze.threshold_sec": "Frozen: alert after, s"},
		Values:    map[string]string{"still_sec": "Stands still for, s", "sound_moves": "Sound goes on (1: yes)", "unmoved_sec": "Still; did not move since the watch began, s"},
	},
	Japanese: Phrases{
		Title:     "映像フリーズ",
		State:     "フリーズ",
		Lasts:     "映像フリーズが{lasted}継続。",
		Alert:     "映像フリーズ",
		Recovered: "映像フリーズから復旧",
		Means:     "動いていた映像が止まり、平均の差が輝度{mean_difference_at_most}段階以下で、周囲の{block_ratio_at_most}倍を超えて動く部分もなければフリーズ。",
		First:     "エンコーダー/スイッチャーの出力（静止画？入力フリーズ？）→ {studio}のプレビュー",
		Check:     "スイッチャーの本線出力は動いていますか。動いていれば、エンコーダーかその入力が止まっています。音声が続いていれば、回線は正常です。",
		Settings:  map[string]string{"detectors.freeze.threshold_sec": "フリーズのアラートまで（秒）"},
		Values:    map[string]string{"still_sec": "静止時間（秒）", "sound_moves": "音声の継続（1：あり）", "unmoved_sec": "静止画（監視開始から動きなし、秒）"},
	},
}
