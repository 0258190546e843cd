// afterSignIn is a page of this dashboard: a link must not lead to another site.
export function afterSignIn(next: string | null, origin: string): string {
  try {
    const to = new URL(next ?? "/", origin);
    return to.origin === origin && to.pathname !== "/signin" ? to.pathname + to.search : "/";
  } catch {
    return "/";
  }
}
