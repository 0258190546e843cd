import type { Words } from "../words";

export const why: Words["why"] = {
  no_media: (lasted) => `新しいデータが${lasted}ありません。`,
  late: (planned) => `${planned}開始予定ですが、まだ始まっていません。`,
  blind: (lasted) => `${lasted}確認できません：配信の状態も映像・音声も取得できません。配信自体は正常かもしれません。`,
  error: (reason) => `監視がエラーで終了しました：${reason}。この配信は現在監視されていません。`,
  other: (condition, lasted) => `${condition} ${lasted}。`,
  alert: (after, limit) => `${after}継続した時点でアラート${limit && `（しきい値${limit}）`}。`,
  andMeans: (alert, means) => `${alert}${means}`,
  tolerance: (tolerance) => `許容${tolerance}を超えてアラート。`,
  now: (state) => `現在：${state}`,
  grows: (severity, at) => `このまま続くと${at}に${severity}になります。`,
  picture: { ok: "映像は正常", unknown: "映像は不明", bad: "映像に異常" },
  sound: { ok: "音声は正常", unknown: "音声は不明", bad: "音声に異常" },
  stream: { live: "YouTubeでは配信中", upcoming: "YouTubeでは開始前", ended: "YouTubeでは終了", unknown: "YouTubeの状態は不明" },
  lastError: "直近のエラー：",
  atAlert: "アラート時：",
};
