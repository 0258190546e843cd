import { Component, h, type FunctionComponent } from "preact";

// memo is a component that is drawn anew only when a property, or a signal that it reads, is another one.
export function memo<P extends object>(of: FunctionComponent<P>): FunctionComponent<P> {
  class Memo extends Component<P> {
    override shouldComponentUpdate(next: P): boolean {
      const now = this.props as Record<string, unknown>;
      return Object.entries(next).some(([key, value]) => now[key] !== value);
    }
    override render() {
      return h(of, this.props as P);
    }
  }
  return Memo as unknown as FunctionComponent<P>;
}
