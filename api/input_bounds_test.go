package api

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// What somebody without an access key sends costs little: a query, a form and a login are not parsed for them.
func TestInputsOfUnknownSendersAreNotParsed(t *testing.T) {
	var parameters strings.Builder
	for i := range 9_990 {
		parameters.WriteString(strconv.Itoa(i) + "=&")
	}
	maps := `{"groups":[` + strings.Repeat(`{"":0},`, 9_000) + `{}]}`
	for name, c := range map[string]struct {
		request *http.Request
		want    int
	}{
		"a query":           {httptest.NewRequest("GET", "/v1/hosts?"+parameters.String(), nil), http.StatusBadRequest},
		"a form":            {form(parameters.String()), http.StatusBadRequest},
		"a large login":     {httptest.NewRequest("POST", "/v1/login", strings.NewReader(maps)), http.StatusRequestEntityTooLarge},
		"a login of nobody": {httptest.NewRequest("POST", "/v1/login", strings.NewReader(maps[:8<<10])), http.StatusNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.config.Trusted = false
			handler := NewHandler(f.config)
			c.request.Header.Set("Authorization", "Bearer nobody:nothing")
			got := httptest.NewRecorder()
			if allocated := allocatedBy(func() { handler.ServeHTTP(got, c.request) }); allocated > 400<<10 {
				t.Errorf("%d KiB were allocated for it", allocated>>10)
			}
			if got.Code != c.want {
				t.Errorf("%d %s", got.Code, got.Body)
			}
		})
	}
}

func form(text string) *http.Request {
	r := httptest.NewRequest("POST", "/", strings.NewReader(text))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

// A kilobyte of gzip is a megabyte of JSON, and that would be hundreds of megabytes of containers: elements are counted first.
func TestACompressedBodyOfManyElementsIsRefused(t *testing.T) {
	f := newFixture(t)
	handler := NewHandler(f.config)
	for operation, body := range map[string]string{
		"RegisterTaskDefinition": `{"family":"x","containerDefinitions":[` + strings.Repeat("{},", 349_000) + `{}]}`,
		"DescribeTasks":          `{"tasks":[` + strings.Repeat(`{"":0},`, 149_000) + `{}]}`,
	} {
		var text bytes.Buffer
		w := gzip.NewWriter(&text)
		_, _ = w.Write([]byte(body))
		_ = w.Close()
		r := httptest.NewRequest("POST", "/v1/"+operation, &text)
		r.Header.Set("Content-Encoding", "gzip")
		got := httptest.NewRecorder()
		if allocated := allocatedBy(func() { handler.ServeHTTP(got, r) }); allocated > 8<<20 {
			t.Errorf("%s: %d MiB were allocated for it", operation, allocated>>20)
		}
		if got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), "SerializationException") {
			t.Errorf("%s: %d %s", operation, got.Code, got.Body)
		}
	}
}

func allocatedBy(work func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	work()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// Of requests with large inputs one address has a part: they wait for one another.
func TestOneAddressHasAPartOfTheLargeInputs(t *testing.T) {
	limits := NewShared().limits
	size, part := limits.LargeInputs.Size, limits.LargeInputs.PerAddress
	if part <= 0 || part > size/2 || limits.InFlight.Size < size {
		t.Errorf("%d of %d", part, size)
	}
}
