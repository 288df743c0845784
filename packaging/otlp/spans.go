package otlp

import (
	"strings"

	"go.opentelemetry.io/otel/sdk/resource"
	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	resourcepb "go.opentelemetry.io/proto/otlp/resource/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"pinion/server/tracer"
)

// scope is the name of what has made the spans.
const scope = "pinion/server/tracer"

// resourceSpans is a message of the protocol.
func resourceSpans(of *resource.Resource, spans []tracer.Span) *tracepb.ResourceSpans {
	host := &resourcepb.Resource{}
	for _, each := range of.Attributes() {
		host.Attributes = append(host.Attributes, text(string(each.Key), each.Value.AsString()))
	}
	list := &tracepb.ScopeSpans{Scope: &commonpb.InstrumentationScope{Name: scope}}
	for i := range spans {
		list.Spans = append(list.Spans, spanOf(&spans[i]))
	}
	return &tracepb.ResourceSpans{Resource: host, ScopeSpans: []*tracepb.ScopeSpans{list}}
}

func spanOf(s *tracer.Span) *tracepb.Span {
	span := &tracepb.Span{
		TraceId: s.TraceID[:], SpanId: s.ID[:], Name: s.Name, Kind: tracepb.Span_SPAN_KIND_INTERNAL,
		StartTimeUnixNano: uint64(s.Start.UnixNano()), EndTimeUnixNano: uint64(s.End.UnixNano()),
	}
	if s.Parent != [8]byte{} {
		span.ParentSpanId = s.Parent[:]
	}
	if s.Link != nil {
		span.Links = []*tracepb.Span_Link{{TraceId: s.Link.TraceID[:], SpanId: s.Link.ID[:]}}
	}
	if s.Failure != "" {
		span.Status = &tracepb.Status{Code: tracepb.Status_STATUS_CODE_ERROR, Message: strings.ToValidUTF8(s.Failure, "�")}
	}
	for _, each := range s.Text {
		span.Attributes = append(span.Attributes, text(each.Name, each.Value))
	}
	return span
}

func text(name, value string) *commonpb.KeyValue {
	return &commonpb.KeyValue{Key: name, Value: &commonpb.AnyValue{Value: &commonpb.AnyValue_StringValue{StringValue: strings.ToValidUTF8(value, "�")}}}
}
