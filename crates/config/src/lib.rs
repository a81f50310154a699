//! rc files, mix files and parameters: text in, a typed run plan out.
