// Package layout decodes pNFS layouts of the files layout type (RFC 8881 chapters 12 and 13), and finds the place of
// each byte of a file on its data servers. It does no I/O.
//
// A metadata server describes a file by segments (RFC 8881 13.3). A segment names a device, and the device lists data
// servers and a pattern of them (13.2.1). The pattern repeats:
//
//	unit  = (offset - PatternOffset) / StripeUnit
//	index = (unit + FirstStripeIndex) mod len(StripeIndices)
//	data server = Servers[StripeIndices[index]]
//
// With sparse packing the offset at the data server is the offset in the file, and the data server has holes in place
// of the data on other data servers (13.4.2). With dense packing the stripe units of one index follow each other
// without holes (13.4.3, 13.4.4).
package layout
