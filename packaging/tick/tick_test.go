package tick

import (
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

func TestTickersShareTheirMoments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fast := New(250 * time.Millisecond)
		defer fast.Stop()
		time.Sleep(190 * time.Millisecond)
		slow := New(time.Second)
		defer slow.Stop()
		ticked := map[time.Time]bool{}
		for shared := 0; shared < 5; {
			select {
			case at := <-fast.C:
				ticked[at] = true
			case at := <-slow.C:
				synctest.Wait()
				select {
				case fastAt := <-fast.C:
					ticked[fastAt] = true
				default:
				}
				if shared++; !ticked[at] {
					t.Errorf("the slow ticker ticks at %v, when the fast one does not", at)
				}
			}
		}
	})
}

func TestATickerKeepsItsInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ticker := New(time.Second)
		before := <-ticker.C
		if first := before.Sub(began); first <= 0 || first > time.Second {
			t.Errorf("the first tick came after %v", first)
		}
		for range 5 {
			now := <-ticker.C
			if now.Sub(before) != time.Second {
				t.Errorf("%v between two ticks", now.Sub(before))
			}
			before = now
		}
		ticker.Stop()
		time.Sleep(time.Minute)
		select {
		case <-ticker.C:
			t.Error("a ticker that was stopped ticks")
		default:
		}
	})
}

func TestATimerThatIsEarlyDoesNotFireAgainAtOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		interval := time.Duration(rapid.Int64Range(int64(time.Millisecond), int64(time.Hour)).Draw(t, "interval"))
		now := time.Unix(0, rapid.Int64Range(0, 1<<62).Draw(t, "now"))
		if wait := until(now, interval); wait < interval/2 || wait > interval+interval/2 {
			t.Fatalf("the next moment is in %v", wait)
		}
	})
}
