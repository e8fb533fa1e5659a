namespace geo {
template <class T> struct Box {
	T w, h;
	__attribute__((noinline)) T area(T scale) const { return w * h * scale; }
};
} // namespace geo
extern "C" int shape(int a) {
	geo::Box<int> box{a, a + 1};
	return box.area(3);
}
