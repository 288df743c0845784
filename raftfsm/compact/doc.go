// Package compact writes Go values as bytes, and reads them back: as strict as JSON that refuses unknown fields, at a fifth of
// its size and a quarter of the time to read it.
//
// Fields go by their places in their struct, so what is on a disk can be read as long as nobody moves a field or takes one away: new
// ones are added at the end (see Fields). A struct is the length of its bits in bytes, one bit for each field that says whether it
// differs from zero, and the fields that do. Those that a reader does not have are an error.
//
//	bool              1 byte
//	int..., uint...   varint, zigzag for the signed ones
//	string            0 and a text, which is known from then on; or 1 and more: the number of a known text
//	time.Time         seconds since the time before it in the stream (varint) and nanoseconds (uvarint); read as UTC
//	slice, map        1 + length, 0 for nil; a map's entries by key
//	pointer           1 and the value, 0 for nil
//
// Lists and maps without entries are zero, and come back as nil, where the field has JSON's omitempty: whoever read a value from
// JSON and whoever read it from here have the same one.
//
// Where a bit has said already that a pointer is not nil, its byte is left out. A text is its length in bytes, two
// bits of a form, and its bytes; texts of hexadecimal digits take half of theirs. Strings of fields with the tag `compact:"own"`
// are never known: they are written once anyway. The value of a field with the tag `compact:"same"` is a string, which has the value in
// a stream of its own: many structs have the same one, and share it once it was read.
package compact
