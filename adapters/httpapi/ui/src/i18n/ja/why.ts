import type { Words } from "..";

export const why: Words["why"] = {
  black: (luma, area, lasted, threshold) => `画面の${area}%で輝度${luma}%未満が${lasted}継続（しきい値${threshold}）。`,
  blackPlain: (lasted, threshold) => `映像が${lasted}真っ黒（しきい値${threshold}）。`,
  silent: (level, lasted, threshold) => `音量${level} dB未満が${lasted}継続（しきい値${threshold}）。`,
  silentPlain: (lasted, threshold) => `${lasted}無音（しきい値${threshold}）。`,
  no_media: (lasted, threshold) => `新しいデータが${lasted}ありません（しきい値${threshold}）。`,
  late: (planned, tolerance) => `${planned}開始予定ですが、まだ始まっていません（許容${tolerance}）。`,
  latePlain: (planned) => `${planned}開始予定ですが、まだ始まっていません。`,
  blind: "配信の状態も映像・音声も取得できません。配信自体は正常かもしれません。",
  error: (reason) => `監視がエラーで終了しました：${reason}。この配信は現在監視されていません。`,
  other: (lasted) => `通知時点で${lasted}継続。`,
  picture: { ok: "映像は正常", unknown: "映像は不明", bad: "映像に異常" },
  sound: { ok: "音声は正常", unknown: "音声は不明", bad: "無音" },
  stream: { live: "YouTubeでは配信中", upcoming: "YouTubeでは開始前", ended: "YouTubeでは終了", unknown: "YouTubeの状態は不明" },
  lastError: (error) => `直近のエラー：${error}`,
};
