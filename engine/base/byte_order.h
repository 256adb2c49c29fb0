/* engine/base/byte_order.h - htole32() and its like. */
#ifndef STI_BYTE_ORDER_H
#define STI_BYTE_ORDER_H

#ifdef __linux__
#include <endian.h>
#elif __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define htole16(x) ((uint16_t)(x))
#define htole32(x) ((uint32_t)(x))
#define htole64(x) ((uint64_t)(x))
#else
#define htole16(x) __builtin_bswap16(x)
#define htole32(x) __builtin_bswap32(x)
#define htole64(x) __builtin_bswap64(x)
#endif

#ifndef __linux__
#include <stdint.h>
#define le16toh(x) htole16(x)
#define le32toh(x) htole32(x)
#define le64toh(x) htole64(x)
#endif

#endif
