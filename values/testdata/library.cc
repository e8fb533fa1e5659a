// Iterators, adapters and other values of C++'s library that hold others.
#include <any>
#include <array>
#include <atomic>
#include <bitset>
#include <chrono>
#include <complex>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <forward_list>
#include <functional>
#include <initializer_list>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <set>
#include <shared_mutex>
#include <span>
#include <stack>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>
struct point {
	int x, y;
};
enum class color { red, green };
static int twice(int n) { return 2 * n; }
struct adder {
	int by;
	int operator()(int n) const { return n + by; }
};
int main()
{
	std::vector<int> v{3, 1, 2};
	std::vector<std::string> vs{"a", "b"};
	std::vector<bool> vb{true, false, true};
	std::vector<point> vp{{1, 2}, {3, 4}};
	std::vector<int> none;
	std::array<int, 3> ar{7, 8, 9};
	std::list<int> l{1, 2, 3};
	std::list<point> lp{{5, 6}};
	std::deque<int> d{1, 2, 3};
	std::deque<point> dp{{7, 8}};
	std::map<std::string, int> m{{"x", 1}, {"y", 2}};
	std::map<int, point> mp{{1, {10, 11}}, {3, {30, 31}}};
	std::multimap<int, int> mm{{1, 2}, {1, 3}};
	std::set<char> sc{'a', 'b'};
	std::unordered_map<std::string, point> um{{"k", {1, 2}}};
	std::unordered_set<int> us{42};
	std::map<color, int> mc{{color::green, 5}};
	std::forward_list<int> fl{4, 5, 6}, fle;
	std::string s = "hello", e;
	std::string_view sv = "view";

	auto vi = v.begin() + 1;
	std::vector<int>::iterator vnull;
	auto vsi = vs.begin();
	auto vpi = vp.cbegin();
	auto vbi = vb.begin() + 2;
	auto vbr = vb[1];
	auto si = s.begin() + 1;
	auto li = l.begin();
	std::list<int>::const_iterator lci = l.begin();
	auto lpi = lp.begin();
	auto di = d.begin() + 1;
	auto dpi = dp.begin();
	auto mi = m.find("y");
	auto mpi = mp.begin();
	auto sci = sc.begin();
	auto umi = um.find("k");
	auto usi = us.find(42);
	auto fli = fl.begin();
	auto flend = fl.end();
	auto mend = m.end();
	auto lend = l.end();
	auto umend = um.end();

	std::any a0, a1 = 5, a2 = std::string("in any"), a3 = point{1, 2};
	std::span<int> sp(v);
	std::span<int, 3> sp3(ar);
	std::initializer_list<int> il{1, 2, 3};
	std::atomic<int> ai{5};
	std::atomic<bool> ab{true};
	std::atomic<double> ad{1.5};
	std::atomic<int *> ap{nullptr};
	std::atomic<point> apt{point{1, 2}};
	std::bitset<10> bs("1010000001");
	std::bitset<100> bl;
	bl[70] = 1;
	std::stack<int> st(d);
	std::queue<int> qu(d);
	std::priority_queue<int> pq(v.begin(), v.end());
	std::filesystem::path p1 = "/usr/lib/x.so", p2 = "rel", p3, p4 = "/";
	std::error_code e0, e1 = std::make_error_code(std::errc::no_such_file_or_directory), e2(2, std::system_category());
	std::error_condition c1 = std::errc::permission_denied;
	std::mutex mu, held;
	held.lock();
	std::recursive_mutex rm;
	rm.lock();
	rm.lock();
	std::shared_mutex sm;
	sm.lock_shared();
	std::unique_lock<std::mutex> ul(mu);
	std::thread nobody;
	std::condition_variable cv;
	std::function<int(int)> f0, f1 = twice, f2 = adder{3}, f3 = [&](int n) { return n + v[0]; };
	std::chrono::milliseconds ms(250);
	std::chrono::seconds sec(3);
	std::chrono::hours hr(2);
	std::chrono::duration<double> dd(1.5);
	std::chrono::duration<int, std::ratio<1, 30>> odd(7);
	std::chrono::system_clock::time_point tp{std::chrono::seconds(1000000000)};
	std::chrono::steady_clock::time_point stp{std::chrono::nanoseconds(5)};
	std::reference_wrapper<int> rw(v[0]);
	std::complex<double> cx(1, 2);
	std::complex<float> cf(1, -2);
	std::optional<point> op = point{1, 2}, on;
	std::unique_ptr<point> up(new point{3, 4});
	std::shared_ptr<point> shp(new point{5, 6});
	std::weak_ptr<point> wp = shp;
	std::strong_ordering ord = 1 <=> 2;
	std::pair<int, std::string> pr{1, "p"};
	asm volatile("" : : : "memory"); // stop
	held.unlock();
	return 0;
}
